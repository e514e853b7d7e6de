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
	"github.com/shimquake/shimquake/harness/judge"
	"github.com/shimquake/shimquake/oracle"
)

// dumpTimeout is how long containerd and a shim have to tell of their goroutines.
const dumpTimeout = 2 * time.Second

// dump takes the stacks of containerd and of the shims that were left, for people. It
// comes after the look: nothing of it is judged.
func (x *run) dump() {
	v := judge.Judge(x.history())
	if v.Unable() || len(v.Violations()) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(x.ctx, dumpTimeout)
	defer cancel()
	x.dumps = map[string][]byte{}
	stacks, err := x.daemon.Stacks(ctx)
	x.dumped("goroutines-containerd.txt", stacks, err)
	for _, f := range v.Violations() {
		if f.Invariant == oracle.Leak && f.Class == oracle.ClassShim && f.Subject.PID > 0 {
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

// dumpShim is what the kernel knows of a shim, and what it says of itself at SIGUSR1. A
// shim logs its stacks through the containerd that has started it: where that has died,
// the signal is not sent, because a shim that nobody reads would stand still.
func (x *run) dumpShim(ctx context.Context, s oracle.Subject) ([]byte, error) {
	proc := x.world.Inside(filepath.Join("/proc", strconv.Itoa(s.PID)))
	var out bytes.Buffer
	for _, name := range []string{"status", "wchan", "stack"} {
		text, err := os.ReadFile(filepath.Join(proc, name))
		if err != nil {
			return out.Bytes(), err
		}
		fmt.Fprintf(&out, "--- /proc/%d/%s\n%s\n", s.PID, name, text)
	}
	switch {
	case !catches(out.String(), unix.SIGUSR1):
		return out.Bytes(), errors.New("the shim does not catch SIGUSR1")
	case len(x.daemon.Deaths()) > 0:
		return out.Bytes(), errors.New("the containerd that reads the shim's log has died")
	}
	before, err := os.ReadFile(x.daemon.Log())
	if err == nil {
		err = x.world.Signal(ctx, signal.Identity{PID: s.PID, Start: s.Start}, unix.SIGUSR1)
	}
	if err != nil {
		return out.Bytes(), err
	}
	stacks, err := x.logged(ctx, len(before))
	return append(out.Bytes(), stacks...), err
}

// endOfStacks ends a shim's stacks in the log (dumpStacks in containerd's pkg/shim).
const endOfStacks = "=== END goroutine stack dump ==="

// logged polls the log from a place on until a shim's stacks are in it.
func (x *run) logged(ctx context.Context, from int) ([]byte, error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := os.ReadFile(x.daemon.Log())
		if err != nil {
			return nil, err
		}
		if text = text[min(from, len(text)):]; bytes.Contains(text, []byte(endOfStacks)) {
			// The log has them in one line, quoted.
			return []byte(strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(string(text))), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("the shim has not logged its stacks: %w", context.Cause(ctx))
		}
	}
}

// catches reports whether a process catches a signal, by its status file.
func catches(status string, sig unix.Signal) bool {
	_, after, _ := strings.Cut(status, "SigCgt:")
	mask, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
	bits, err := strconv.ParseUint(mask, 16, 64)
	return err == nil && bits>>(uint(sig)-1)&1 == 1
}
