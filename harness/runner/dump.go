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
	"github.com/shimquake/shimquake/oracle/scan"
)

// dumpTimeout is the timeout for all stacks together.
const dumpTimeout = time.Second

// dump keeps the stacks of containerd and of leaked shims for people, if there is a
// violation. The judge does not use them.
func (x *run) dump() {
	v := x.found
	if v.UnableHere() || len(v.Violations()) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(x.ctx, dumpTimeout)
	defer cancel()
	x.dumps = map[string][]byte{}
	stacks, err := x.daemon.Stacks(ctx)
	x.dumped("goroutines-containerd.txt", stacks, err)
	for _, f := range v.Violations() {
		// While the task exists, containerd itself reads the log of its shim.
		if f.Invariant == finding.Leak && f.Class == finding.ClassShim && f.Subject.PID > 0 &&
			f.Facts[fact.Task] == fact.None {
			text, err := x.dumpShim(ctx, f.Subject)
			x.dumped(fmt.Sprintf("goroutines-shim-%d.txt", f.Subject.PID), text, err)
		}
	}
}

// dumped keeps the text of a dump, and the error if it is incomplete.
func (x *run) dumped(name string, text []byte, err error) {
	if err != nil {
		text = fmt.Appendf(text, "not complete: %v\n", err)
	}
	x.dumps[name] = text
}

// maxDescriptors limits how many descriptors of a shim are read.
const maxDescriptors = 1 << 16

// dumpShim returns the kernel's stacks of a shim, and the Go stacks that the shim logs
// after SIGUSR1.
func (x *run) dumpShim(ctx context.Context, s finding.Subject) ([]byte, error) {
	id := signal.Identity{PID: s.PID, Start: s.Start}
	proc, err := foreign.OpenDir(filepath.Join(x.world.Proc(), strconv.Itoa(s.PID)))
	if err != nil {
		return nil, err
	}
	defer proc.Close()                             //nolint:errcheck // it is only read
	if _, err := x.world.HostPID(id); err != nil { // the shim still runs, so the folder is its own
		return nil, err
	}
	threads, err := scan.Threads(proc)
	if err != nil {
		return threads, err
	}
	if !scan.Catches(threads, unix.SIGUSR1) {
		return threads, errors.New("the shim has no handler for SIGUSR1")
	}
	log, err := openLog(proc)
	if err != nil {
		return threads, err
	}
	defer func() { _ = log.Close() }() // it is only read
	if err := x.world.Signal(ctx, id, unix.SIGUSR1); err != nil {
		return threads, err
	}
	stacks, err := readStacks(ctx, log)
	return append(threads, stacks...), err
}

// openLog opens the FIFO to which a shim logs, through the shim's own descriptor. The
// FIFO's name in the bundle may be gone.
func openLog(proc *foreign.Dir) (*os.File, error) {
	fds, err := proc.List("fd", maxDescriptors)
	if err != nil {
		return nil, err
	}
	for _, fd := range fds {
		name := filepath.Join("fd", fd.Name())
		to, err := proc.Readlink(name)
		if err != nil || filepath.Base(strings.TrimSuffix(to, " (deleted)")) != "log" {
			continue
		}
		if log, err := foreign.OpenLinkedFIFO(proc.Path(name)); err == nil {
			return log, nil
		}
	}
	return nil, errors.New("the shim has not opened its log")
}

// endOfStacks is the last line of a shim's stacks in its log (dumpStacks in containerd's
// pkg/shim).
const endOfStacks = "=== END goroutine stack dump ==="

// readStacks reads a shim's log up to endOfStacks. The shim logs all stacks as one quoted
// line, and readStacks restores the lines.
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
