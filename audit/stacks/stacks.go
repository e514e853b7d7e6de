// Package stacks collects the stacks of containerd and of stuck shims for the evidence of
// an audit, and the journal of the time. Package audit only reads. This package sends
// SIGUSR1, and runs the program of systemd that prints the journal.
package stacks

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/audit"
	"github.com/shimquake/shimquake/child"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/scan"
	"github.com/shimquake/shimquake/poll"
)

// dumpers are the programs that log their goroutines at SIGUSR1, by their sources from
// 1.6.8 to 2.4.2. The files are main_unix.go of containerd, and shim_unix.go. No signal
// goes to other shims, nor to containerd in another binary (k3s).
var dumpers = []string{
	"github.com/containerd/containerd/cmd/containerd", "github.com/containerd/containerd/v2/cmd/containerd",
	"github.com/containerd/containerd/cmd/containerd-shim-runc-v2",
	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
}

// The limits of the stacks.
const (
	maxShims    = 20
	maxFile     = 8 << 20
	dumpTime    = 3 * time.Second
	journalTime = 10 * time.Second
	journalOf   = 10 * time.Minute
)

// Take returns files for the evidence of a report: the kernel stacks of all threads, the
// goroutines, and the journal. A file says why something is missing. The pids of the
// report must be of this PID namespace.
func Take(ctx context.Context, r *audit.Report) map[string][]byte {
	files := map[string][]byte{}
	areRead := len(r.Daemons) > 0 // a shim's log is a FIFO, and a full one would block the shim
	for _, d := range r.Daemons {
		areRead = areRead && d.Answered
		files[name(d.PID, "kernel")] = orError(threads(d.PID))
		files[name(d.PID, "goroutines")] = orError(dumped(ctx, d.PID))
	}
	shims := slices.DeleteFunc(slices.Clone(r.Suspects), func(s audit.Suspect) bool {
		return s.PID == 0 || s.Kind != finding.ClassShim && s.Kind != finding.ClassTask
	})
	for _, s := range shims[:min(len(shims), maxShims)] {
		files[name(s.PID, "kernel")] = orError(threads(s.PID))
		err := errors.New("no signal was sent: containerd has not answered, so perhaps nothing reads the shim's log")
		if areRead {
			if err = ask(s.PID); err == nil {
				err = errors.New("SIGUSR1 was sent: the journal of containerd has the goroutines")
			}
		}
		files[name(s.PID, "goroutines")] = orError(nil, err)
	}
	files["journal"] = journal(ctx)
	return files
}

func name(pid int, what string) string { return fmt.Sprintf("stacks/%d-%s", pid, what) }

// orError adds the error to a file that is not complete.
func orError(text []byte, err error) []byte {
	if err != nil {
		return fmt.Append(text, err)
	}
	return text
}

func dir(pid int) string { return filepath.Join("/proc", strconv.Itoa(pid)) }

// threads returns the status of a process, and the kernel's stacks of its threads.
func threads(pid int) ([]byte, error) {
	proc, err := foreign.OpenDir(dir(pid))
	if err != nil {
		return nil, err
	}
	defer func() { _ = proc.Close() }() // it is only read
	return scan.Threads(proc)
}

// ask sends SIGUSR1 to a process that handles it. The pidfd holds the process that is
// examined, so the signal never reaches another one.
func ask(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("no signal was sent: %w", err)
	}
	defer func() { _ = unix.Close(fd) }() // a pidfd
	info, err := buildinfo.ReadFile(filepath.Join(dir(pid), "exe"))
	if err != nil {
		return fmt.Errorf("no signal was sent, because the program is not known: %w", err)
	}
	if !slices.Contains(dumpers, info.Path) {
		return fmt.Errorf("no signal was sent: %s may not handle SIGUSR1", info.Path)
	}
	if status, _ := threads(pid); !scan.Catches(status, unix.SIGUSR1) { // without a handler, it would end
		return errors.New("no signal was sent: the process has no handler for SIGUSR1 yet")
	}
	return unix.PidfdSendSignal(fd, unix.SIGUSR1, nil, 0)
}

// dumped asks containerd for its goroutines. It returns the file that containerd writes
// besides its log.
func dumped(ctx context.Context, pid int) ([]byte, error) {
	begun := time.Now()
	if err := ask(pid); err != nil {
		return nil, err
	}
	tree, err := scan.OpenTree(filepath.Join(dir(pid), "root"))
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	ns, err := pidInside(pid)
	if err != nil {
		return nil, err
	}
	own, file := tree.Of(scan.Owner{}), fmt.Sprintf("/tmp/containerd.%d.stacks.log", ns)
	ctx, cancel := context.WithTimeout(ctx, dumpTime)
	defer cancel()
	var text []byte
	err = poll.Until(ctx, dumpTime/20, func() (bool, error) {
		info, err := own.Stat(file)
		if err != nil || info.ModTime().Before(begun.Truncate(time.Second)) {
			return false, nil
		}
		was := len(text)
		text, err = own.ReadFile(file, maxFile)
		return err == nil && len(text) > 0 && len(text) == was, nil // it is written in one piece
	})
	if err != nil {
		err = fmt.Errorf("SIGUSR1 was sent, and %s has not appeared in %s: containerd is frozen, or has another"+
			" TMPDIR; see the journal", file, dumpTime)
	}
	return text, err
}

// pidInside returns the pid that a process has in its own PID namespace.
func pidInside(pid int) (uint64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	status, err := p.NewStatus()
	if err != nil || len(status.NSpids) == 0 {
		return uint64(pid), err
	}
	return status.NSpids[len(status.NSpids)-1], nil
}

// journal returns the last lines of containerd, of its clients and of the kernel.
func journal(ctx context.Context) []byte {
	ctx, cancel := context.WithTimeout(ctx, journalTime)
	defer cancel()
	since := strconv.FormatInt(time.Now().Add(-journalOf).Unix(), 10)
	text, err := child.Command(ctx, "journalctl", "--since", "@"+since, "--no-pager", "--lines", "20000",
		"--output", "short-precise", "_COMM=containerd", "+", "_COMM=kubelet", "+", "_COMM=dockerd", "+",
		"_TRANSPORT=kernel").Output()
	if err != nil {
		return fmt.Appendf(text, "\njournalctl: %v\n", err)
	}
	return text[max(0, len(text)-maxFile):]
}
