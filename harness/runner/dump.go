package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// dumpTimeout is the timeout for the stacks of containerd and of a shim.
const dumpTimeout = time.Second

// dump takes the stacks of containerd and of leaked shims, for people, if the look has
// found a violation. The judge does not use them.
func (x *run) dump() {
	v := x.found
	if v.Unable() || len(v.Violations()) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(x.ctx, dumpTimeout)
	defer cancel()
	x.dumps = map[string][]byte{}
	stacks, err := x.daemon.Stacks(ctx)
	x.dumped("goroutines-containerd.txt", stacks, err)
	for _, f := range v.Violations() {
		// If the task still exists, containerd itself reads the log of its shim.
		if f.Invariant == finding.Leak && f.Class == finding.ClassShim && f.Subject.PID > 0 &&
			f.Facts[fact.Task] == fact.None {
			text, err := x.dumpShim(ctx, f.Subject)
			x.dumped(fmt.Sprintf("goroutines-shim-%d.txt", f.Subject.PID), text, err)
		}
	}
}

// dumped notes a dump, or why there is none.
func (x *run) dumped(name string, text []byte, err error) {
	if err != nil {
		text = fmt.Appendf(text, "not complete: %v\n", err)
	}
	x.dumps[name] = text
}

// mostThreads limits the threads and descriptors of a shim that are read.
const mostThreads = 1 << 16

// dumpShim returns the kernel's view of a shim, and the stacks that it logs at SIGUSR1.
// It reads the host's /proc, because a program of the world may have mounted another
// one.
func (x *run) dumpShim(ctx context.Context, s finding.Subject) ([]byte, error) {
	var out bytes.Buffer
	pid, err := x.world.HostPID(signal.Identity{PID: s.PID, Start: s.Start})
	if err != nil {
		return nil, err
	}
	proc, err := foreign.OpenDir(filepath.Join("/proc", strconv.Itoa(pid)))
	if err != nil {
		return nil, err
	}
	defer proc.Close() //nolint:errcheck // it is only read
	names := []string{"status"}
	threads, err := proc.List("task", mostThreads)
	if err != nil {
		return nil, err
	}
	for _, t := range threads { // the kernel's view helps if the Go runtime is stuck
		names = append(names, filepath.Join("task", t.Name(), "wchan"), filepath.Join("task", t.Name(), "stack"))
	}
	for _, name := range names {
		text, err := proc.Read(name, mostKept)
		if err != nil {
			return out.Bytes(), err
		}
		fmt.Fprintf(&out, "--- /proc/%d/%s\n%s\n", s.PID, name, text)
	}
	if !catches(out.String(), unix.SIGUSR1) {
		return out.Bytes(), errors.New("the shim does not catch SIGUSR1")
	}
	log, err := openLog(proc)
	if err != nil {
		return out.Bytes(), err
	}
	defer func() { _ = log.Close() }() // it is only read
	if err := x.world.Signal(ctx, signal.Identity{PID: s.PID, Start: s.Start}, unix.SIGUSR1); err != nil {
		return out.Bytes(), err
	}
	stacks, err := readStacks(ctx, log)
	return append(out.Bytes(), stacks...), err
}

// openLog opens the FIFO that a shim logs to, by its descriptor. The bundle with the FIFO
// may be gone, and then no containerd reads it.
func openLog(proc *foreign.Dir) (*os.File, error) {
	fds, err := proc.List("fd", mostThreads)
	if err != nil {
		return nil, err
	}
	for _, fd := range fds {
		name := proc.Path(filepath.Join("fd", fd.Name()))
		to, err := os.Readlink(name)
		if err != nil || filepath.Base(strings.TrimSuffix(to, " (deleted)")) != "log" {
			continue
		}
		info, err := os.Stat(name)
		if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
			continue
		}
		return os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0) //nolint:forbidigo // a FIFO, as was seen
	}
	return nil, errors.New("the shim has no log open")
}

// endOfStacks ends a shim's stacks in its log (dumpStacks in containerd's pkg/shim).
const endOfStacks = "=== END goroutine stack dump ==="

// readStacks reads a shim's log up to the end of its stacks, which are one quoted line.
func readStacks(ctx context.Context, log *os.File) (text []byte, err error) {
	if deadline, ok := ctx.Deadline(); ok {
		if err := log.SetReadDeadline(deadline); err != nil {
			return nil, err
		}
	}
	buf := make([]byte, 64<<10)
	for !bytes.Contains(text, []byte(endOfStacks)) {
		n, rerr := log.Read(buf)
		text = append(text, buf[:n]...)
		if rerr != nil {
			err = fmt.Errorf("the shim has not logged its stacks: %w", rerr)
			break
		}
	}
	return []byte(strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(string(text))), err
}

// catches reports whether a process catches a signal, by its status file.
func catches(status string, sig unix.Signal) bool {
	_, after, _ := strings.Cut(status, "SigCgt:")
	mask, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
	bits, err := strconv.ParseUint(mask, 16, 64)
	return err == nil && bits>>(uint(sig)-1)&1 == 1
}
