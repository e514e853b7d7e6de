package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/shimquake/shimquake/failpoints/iopressure"
	"github.com/shimquake/shimquake/poll"
)

// traces finds what killed runs have left on the host. It signals no process.
type traces struct {
	base      string
	worlds    []string // of all killed runs
	throttles []iopressure.Record
	tokens    []string
	next      string // the token of the running run
}

// add adds the worlds of the run that has just been killed.
func (k *traces) add() error {
	k.tokens = append(k.tokens, k.next)
	worlds, err := os.ReadDir(filepath.Join(k.base, "worlds"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, w := range worlds {
		if w.IsDir() && !slices.Contains(k.worlds, w.Name()) {
			k.worlds = append(k.worlds, w.Name())
		}
	}
	records, err := filepath.Glob(filepath.Join(k.base, "records", "*.throttle.json"))
	for _, name := range records {
		text, rerr := os.ReadFile(name)
		var r iopressure.Record
		err = errors.Join(err, rerr, json.Unmarshal(text, &r))
		k.throttles = append(k.throttles, r)
	}
	return err
}

// awaitGone waits until the next run, or gc, has removed all traces.
func (t *test) awaitGone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var left []string
	err := poll.Until(ctx, 5*time.Millisecond, func() (done bool, err error) {
		left, err = t.killed.left()
		return len(left) == 0, err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		log, _ := os.ReadFile(filepath.Join(t.base, "run.log"))
		return fmt.Errorf("a killed run has left %q for %s, and the next run says %q", left, timeout, log)
	}
	return err
}

// left returns all traces on the host: folders, cgroups, loop devices, throttles and
// processes.
func (k *traces) left() (all []string, err error) {
	for _, w := range k.worlds {
		for _, pattern := range []string{k.folder(w), "/sys/fs/cgroup/shimquake/" + w, "/sys/fs/cgroup/*/shimquake/" + w} {
			found, globErr := filepath.Glob(pattern)
			all, err = append(all, found...), errors.Join(err, globErr)
		}
	}
	loops, globErr := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, f := range loops {
		if text, err := os.ReadFile(f); err == nil && k.mine(string(text)) { // a file that has gone is no trace
			all = append(all, f)
		}
	}
	for _, r := range k.throttles {
		backing, err := os.ReadFile(filepath.Join("/sys/dev/block", r.Dev, "loop/backing_file"))
		if err == nil && !k.mine(string(backing)) { // its new owner may throttle it
			continue
		}
		// With cgroup v2 the limit ends with the world's group.
		text, _ := os.ReadFile("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device")
		if limit := fmt.Sprintf("%s %d", r.Dev, r.BPS); slices.Contains(strings.Split(string(text), "\n"), limit) {
			all = append(all, "throttle "+limit)
		}
	}
	processes, procErr := k.processes()
	return append(all, processes...), errors.Join(err, globErr, procErr)
}

// processes returns processes in the worlds' cgroups and processes that see a mount of
// the worlds. It also returns processes with a world's folder or a run's token in their
// arguments or environment. A mount on the host is a trace of this process.
func (k *traces) processes() (all []string, err error) {
	procs, err := procfs.AllProcs()
	for _, p := range procs {
		// The host's init reaps ended processes, at its own pace.
		if stat, err := p.Stat(); err != nil || stat.State == "Z" && stat.PPID == 1 {
			continue
		}
		for _, file := range []string{"cgroup", "environ", "cmdline", "mountinfo"} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.PID, file))
			if err == nil && // an ended process is no trace
				(k.mine(string(text)) || file == "environ" && k.carries(string(text))) {
				comm, _ := p.Comm()
				all = append(all, fmt.Sprintf("process %d (%s) by its %s", p.PID, comm, file))
				break
			}
		}
	}
	return all, err
}

func (k *traces) folder(world string) string { return filepath.Join(k.base, "worlds", world) }

// mine reports whether a text names one of the worlds.
func (k *traces) mine(text string) bool {
	return slices.ContainsFunc(k.worlds, func(w string) bool {
		return strings.Contains(text, k.folder(w)) || strings.Contains(text, "/shimquake/"+w)
	})
}

func (k *traces) carries(environ string) bool {
	return slices.ContainsFunc(strings.Split(environ, "\x00"), func(v string) bool {
		return slices.Contains(k.tokens, v)
	})
}
