package inject

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/poll"
)

// probed is a fault at a point where a probe asks the controller:
// rpc:shim:Task.Shutdown:entry 1*error(x).
type probed struct {
	in *Injector
	i  int
}

func newProbed(in *Injector, i int) Fault { return &probed{in, i} }

// Begin is never called, because the controller knows the plan from the start.
func (p *probed) Begin(context.Context) error { return nil }

// Undo has nothing to undo.
func (p *probed) Undo() error { return nil }

// Proof returns the count of the controller. The count is not enough if the fault may
// have had no effect. A process that was told to crash must have ended, and a call with
// a cancelled context must have failed.
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
			f.Proof = fmt.Sprintf("its point has too few hits: %d", n)
			if 2*n >= firstHit(p.in.plan[p.i].Do) { // the point may be in a loop with a varying number of rounds
				f.Miss = harness.MissTooFew
			}
		}
		return f
	}
	if want := leastHits(p.in.plan[p.i].Do); f.Count < want {
		return harness.Firing{Proof: fmt.Sprintf("fired only %s, and the last part of the term needs %s",
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
					"%s, pid %d in its world: the context was ended at %s, but the call completed",
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

// passed returns the number of hits of the fault's point while it was armed.
func (p *probed) passed() (n int) {
	f := p.in.plan[p.i]
	for _, h := range p.in.Controller.Hits() {
		if h.Ask && h.Point == f.At.String() && (f.At.Kind != failpoints.Stmt || probe.DecidedAt(f.Do, h.Hit)) {
			n++
		}
	}
	return n
}

// contextObserved reports whether a call with an ended context failed. A handler may
// ignore its context, and then the fault has no effect. At an exit point the probe
// itself returns the context's error.
func contextObserved(h failpoints.Hit, later []failpoints.Hit) bool {
	at, err := failpoints.ParsePoint(h.Point)
	if err != nil || at.Where == "exit" {
		return err == nil
	}
	if at.Kind == failpoints.Stmt { // the probe reports whether the local context has ended, too
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

// leastHits returns the number of actions after which each part of a term has happened.
// For 1*error->1*crash that is 2, because the term is complete only after the crash.
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

// crashTimeout is the time in which a process must end after it sent SIGKILL to itself,
// and crashLook the time between two looks. reapTimeout is the time in which the
// world's init must then report its exit status.
const (
	crashTimeout = 5 * time.Second
	crashLook    = 2 * time.Millisecond
	reapTimeout  = 100 * time.Millisecond
)

// crashed returns the evidence that a process which was told to crash has ended, or why
// the fault had no effect. The world's init reaps containerd and the shims, and reports
// their exit statuses. A short-lived helper (`shim start`, `shim delete`) has
// containerd as its parent, so only its absence can be seen.
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

// awaitGone waits until the world has no process with that pid.
func (in *Injector) awaitGone(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, crashTimeout)
	defer cancel()
	if err := poll.Until(ctx, crashLook, func() (bool, error) {
		_, err := os.Stat(in.World.Inside(fmt.Sprintf("/proc/%d", pid)))
		return errors.Is(err, fs.ErrNotExist), nil
	}); err != nil {
		return fmt.Errorf("pid %d still runs: %w", pid, err)
	}
	return nil
}
