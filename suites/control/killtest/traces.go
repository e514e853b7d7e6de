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
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"github.com/shimquake/shimquake/failpoints/iopressure"
)

// nilSignal checks whether a process exists.
const nilSignal = syscall.Signal(0)

// killed has the traces of a killed run on the host.
type killed struct {
	base      string
	tokens    []string
	after     []time.Duration
	worlds    []string
	throttles []iopressure.Record
	counts    map[string]int // number of traces, by kind
}

// join adds a run that was killed before the leftovers of the first one were collected.
func (k *killed) join(second *killed) {
	k.tokens = append(k.tokens, second.tokens...)
	k.after = append(k.after, second.after...)
	for _, w := range second.worlds {
		if !slices.Contains(k.worlds, w) {
			k.worlds = append(k.worlds, w)
		}
	}
	k.throttles = append(k.throttles, second.throttles...)
	for kind, n := range second.counts {
		k.counts[kind] = max(k.counts[kind], n)
	}
}

// inspect lists the worlds of a run that has just been killed, and their traces.
func (t *test) inspect(token string, after time.Duration) (*killed, error) {
	k := &killed{base: t.base, tokens: []string{token}, after: []time.Duration{after}, counts: map[string]int{}}
	var err error
	if k.worlds, err = t.worlds(); err != nil {
		return nil, err
	}
	for _, w := range k.worlds {
		text, err := os.ReadFile(filepath.Join(k.base, "worlds", w, "throttle.json"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var r iopressure.Record
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("%s of world %s: %w", "throttle.json", w, err)
		}
		k.throttles = append(k.throttles, r)
	}
	all, err := k.traces()
	for _, t := range all {
		kind, _, _ := strings.Cut(t, " ")
		k.counts[kind]++
	}
	return k, err
}

func (k *killed) row(round int) string {
	again := "-"
	if len(k.after) > 1 {
		again = k.after[1].Round(time.Millisecond).String()
	}
	return fmt.Sprintf(
		"%d\t%s\t%s\t%d\t%d\t%d\t%d\t%d",
		round,
		k.after[0].Round(time.Millisecond),
		again,
		len(k.worlds),
		k.counts["process"],
		k.counts["loop"],
		k.counts["throttle"],
		k.counts["cgroup"],
	)
}

// awaitGone waits until no trace is left, and names the last one. It returns the traces
// that are left after the timeout.
func (k *killed) awaitGone(ctx context.Context) (left []string, took string, err error) {
	begun := time.Now()
	last := "mark once"
	err = poll(ctx, timeout, func() (bool, error) {
		left, err = k.traces()
		if len(left) > 0 {
			last = fmt.Sprintf("%s, last was %s", time.Since(begun).Round(time.Millisecond), left[len(left)-1])
		}
		return len(left) == 0, err
	}, nil)
	return left, last, err
}

// traces returns all traces of the killed run's worlds on the host, each beginning with
// its kind.
func (k *killed) traces() ([]string, error) {
	var all []string
	for _, f := range []func() ([]string, error){k.folders, k.groups, k.loops, k.limits, k.processes} {
		some, err := f()
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func (k *killed) folder(world string) string { return filepath.Join(k.base, "worlds", world) }

func (k *killed) folders() ([]string, error) {
	var all []string
	for _, w := range k.worlds {
		if _, err := os.Lstat(k.folder(w)); err == nil {
			all = append(all, "folder "+k.folder(w))
		}
	}
	return all, nil
}

func (k *killed) groups() ([]string, error) {
	var all []string
	for _, w := range k.worlds {
		for _, pattern := range []string{"/sys/fs/cgroup/shimquake/", "/sys/fs/cgroup/*/shimquake/"} {
			found, err := filepath.Glob(pattern + w)
			if err != nil {
				return nil, err
			}
			for _, g := range found {
				all = append(all, "cgroup "+g)
			}
		}
	}
	return all, nil
}

func (k *killed) loops() ([]string, error) {
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return nil, err
	}
	var all []string
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && k.mine(string(text)) { // a file that has gone is no trace
			all = append(all, "loop device "+f)
		}
	}
	return all, nil
}

// limits returns the throttles that are still set. A device with another disk may be
// throttled by its new owner.
func (k *killed) limits() ([]string, error) {
	var all []string
	for _, r := range k.throttles {
		backing, err := os.ReadFile(filepath.Join("/sys/dev/block", r.Dev, "loop/backing_file"))
		if err == nil && !k.mine(string(backing)) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(r.Group, "blkio.throttle.write_bps_device"))
		if errors.Is(err, os.ErrNotExist) { // cgroup v2: the limit ends with the world's group
			continue
		}
		if err != nil {
			return nil, err
		}
		if slices.Contains(strings.Split(string(text), "\n"), fmt.Sprintf("%s %d", r.Dev, r.BPS)) {
			all = append(all, fmt.Sprintf("throttle %s %d", r.Dev, r.BPS))
		}
	}
	return all, nil
}

// processes returns the processes in the worlds' cgroups, and the processes with a
// world's folder or the run's token in their arguments or environment. It also returns
// the processes that see a mount of the worlds. It signals no process.
func (k *killed) processes() ([]string, error) {
	procs, err := procfs.AllProcs()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, p := range procs {
		if p.PID == os.Getpid() {
			continue
		}
		// The host's init reaps ended processes, at its own pace.
		if stat, err := p.Stat(); err != nil || stat.State == "Z" && stat.PPID == 1 {
			continue
		}
		for _, file := range []string{"cgroup", "environ", "cmdline", "mountinfo"} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.PID, file))
			if err == nil &&
				(k.mine(string(text)) || file == "environ" && k.carries(string(text))) { // an ended process is no trace
				comm, _ := p.Comm()
				all = append(all, fmt.Sprintf("process %d (%s) by its %s", p.PID, comm, file))
				break
			}
		}
	}
	own, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	if k.mine(string(own)) {
		all = append(all, "mount on the host")
	}
	return all, nil
}

// mine reports whether a text names one of the worlds.
func (k *killed) mine(text string) bool {
	return slices.ContainsFunc(k.worlds, func(w string) bool {
		return strings.Contains(text, k.folder(w)) || strings.Contains(text, "/shimquake/"+w)
	})
}

func (k *killed) carries(environ string) bool {
	return slices.ContainsFunc(
		strings.Split(environ, "\x00"),
		func(v string) bool { return slices.Contains(k.tokens, v) },
	)
}

// poll calls so until it returns true. After the time limit it returns an error with the
// text of what, or nil if that is nil.
func poll(ctx context.Context, most time.Duration, so func() (bool, error), what func() string) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(most)
	for {
		if ok, err := so(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			if what == nil {
				return nil
			}
			return errors.New(what())
		}
	}
}
