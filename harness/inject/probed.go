package inject

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/poll"
)

// probed is a fault at a point where a probe asks the controller whether the fault
// happens. An example is rpc:shim:Task.Shutdown:entry 1*error(x).
type probed struct {
	in *Injector
	i  int
}

func newProbed(in *Injector, i int) Fault { return &probed{in, i} }

// Begin is never called, because the controller knows the plan from the start.
func (p *probed) Begin(context.Context) error { return nil }

// Undo has nothing to undo.
func (p *probed) Undo() error { return nil }

// Proof returns the controller's count. For some actions it also checks the effect. A
// process that was told to crash must have ended. A call whose context was cancelled must
// have failed.
func (p *probed) Proof(ctx context.Context) (harness.Firing, error) {
	f := p.proof(ctx)
	if hits := p.in.Controller.Hits(); f.Count > 0 {
		if first := slices.IndexFunc(hits, func(h failpoints.Hit) bool { return h.Fault == p.i }); first >= 0 {
			f.At = hits[first].Time
		}
	}
	return f, nil
}

func (p *probed) proof(ctx context.Context) harness.Firing {
	f := harness.Firing{Count: p.in.Controller.Fired(p.i)}
	if f.Count == 0 {
		if n := p.passed(); n > 0 {
			f.Proof = fmt.Sprintf("the point was executed too few times: %d", n)
			if 2*n >= firstHit(p.in.plan[p.i].Do) { // a loop may have run fewer rounds than in the traces
				f.Miss = harness.MissTooFew
			}
		}
		return f
	}
	if want := leastHits(p.in.plan[p.i].Do); f.Count < want {
		return harness.Firing{Proof: fmt.Sprintf("fired only %s, but its last action needs it to fire %s",
			times(f.Count), times(want))}
	}
	f.Proof = fmt.Sprintf("fired %s, counted by the probe", times(f.Count))
	hits := p.in.Controller.Hits()
	for at, h := range hits {
		if h.Fault != p.i {
			continue
		}
		switch h.Did {
		case term.Cancel, term.Deadline:
			if !contextObserved(h, hits[at+1:]) {
				return harness.Firing{Miss: harness.MissUnobserved, Proof: fmt.Sprintf(
					"%s, pid %d in its world: its context ended at %s, but the call completed",
					h.Who,
					h.PID,
					h.Point,
				)}
			}
		case term.Crash:
			how, miss := p.in.crashed(ctx, h)
			if how == "" {
				return miss
			}
			f.Proof += fmt.Sprintf("; %s, pid %d in its world, %s", h.Who, h.PID, how)
		}
	}
	return f
}

// times returns "once" or "N times".
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// passed returns how often processes executed the fault's point while the fault was
// armed.
func (p *probed) passed() (n int) {
	f := p.in.plan[p.i]
	for _, h := range p.in.Controller.Hits() {
		if h.Ask && h.Point == f.At.String() && (f.At.Kind != failpoints.Stmt || probe.DecidedAt(f.Do, h.Hit)) {
			n++
		}
	}
	return n
}

// contextObserved reports whether a call failed after the fault had ended its context.
// It returns false for a handler that ignores its context and completes. At an exit
// point the probe itself returns the context's error.
func contextObserved(h failpoints.Hit, later []failpoints.Hit) bool {
	at, err := failpoints.ParsePoint(h.Point)
	if err != nil || at.Where == "exit" {
		return err == nil
	}
	if at.Kind == failpoints.Stmt { // the probe reports whether the local context has ended
		return slices.ContainsFunc(
			later,
			func(l failpoints.Hit) bool { return l.Point == h.Point && l.PID == h.PID && l.Ended },
		)
	}
	at.Where = "exit"
	exit := at.String()
	for _, l := range later {
		if l.Point == exit && l.PID == h.PID && l.ID == h.ID && l.ExecID == h.ExecID {
			return l.Err != ""
		}
	}
	return true // the call never returned
}

// firstHit returns the number of the first hit at which a term has an action.
func firstHit(t term.Term) int {
	n := 1
	for _, c := range t.Clauses() {
		if c.Action != term.Off {
			break
		}
		n += max(c.Count, 1)
	}
	return n
}

// leastHits returns how often a term must act until each of its parts has happened. For
// 1*error->1*crash that is 2.
func leastHits(t term.Term) int {
	least, before := 0, 0
	for _, c := range t.Clauses() {
		if c.Action == term.Off {
			continue
		}
		least = before + 1
		before += max(c.Count, 1)
	}
	return least
}

// crashTimeout is how long a process may take to end after it sent SIGKILL to itself.
// crashLook is the time between two checks. reapTimeout is how long the init process of
// the world may then take to report the exit status.
const (
	crashTimeout = 5 * time.Second
	crashLook    = 2 * time.Millisecond
	reapTimeout  = 100 * time.Millisecond
)

// crashed returns the evidence that a process has ended after it was told to crash, or
// the reason why the fault had no effect. The init process of the world reaps containerd
// and the shims, and reports their exit statuses. containerd itself reaps `shim start`
// and `shim delete`, so crashed only sees that they are gone.
func (in *Injector) crashed(ctx context.Context, h failpoints.Hit) (string, harness.Firing) {
	miss := func(kind harness.Miss, why string) (string, harness.Firing) {
		return "", harness.Firing{
			Miss:  kind,
			Proof: fmt.Sprintf("%s, pid %d in its world, should have crashed, but %s", h.Who, h.PID, why),
		}
	}
	if err := in.awaitGone(ctx, h.PID); err != nil {
		return miss("", err.Error())
	}
	reaped, cancel := context.WithTimeout(ctx, reapTimeout)
	defer cancel()
	e, err := in.World.Exited(reaped, h.PID)
	if err != nil {
		return "is gone, reaped by its parent", harness.Firing{}
	}
	if e.Code() != 128+uint32(unix.SIGKILL) {
		return miss(harness.MissAlreadyExited, fmt.Sprintf("exited with %d", e.Code()))
	}
	return fmt.Sprintf("was reaped with %d", e.Code()), harness.Firing{}
}

// awaitGone waits until the world has no process with this pid.
func (in *Injector) awaitGone(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, crashTimeout)
	defer cancel()
	proc, err := foreign.OpenDir(in.World.Proc())
	if err != nil {
		return err
	}
	defer func() { _ = proc.Close() }() // it was only read
	if err := poll.Until(ctx, crashLook, func() (bool, error) {
		_, err := proc.Describe(strconv.Itoa(pid))
		return errors.Is(err, fs.ErrNotExist), nil
	}); err != nil {
		return fmt.Errorf("pid %d still runs: %w", pid, err)
	}
	return nil
}
