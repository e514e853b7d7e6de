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

// Begin is never called: the controller knows from the start.
func (p *probed) Begin(context.Context) error { return nil }

// Undo has nothing to undo.
func (p *probed) Undo() error { return nil }

// Proof is the count of the controller. That a process was asked to do something is not
// enough where it could have gone on as if nothing had happened: one that was to crash
// must have been seen to end, and a call whose context was ended must have failed.
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
			f.Proof = fmt.Sprintf("its point was passed too few times: %d", n)
			if 2*n >= firstHit(p.in.plan[p.i].Do) { // of a loop; less is no luck
				f.Miss = harness.MissTooFew
			}
		}
		return f
	}
	if want := leastHits(p.in.plan[p.i].Do); f.Count < want {
		return harness.Firing{Proof: fmt.Sprintf("fired %d times, and its last part comes with the %d.", f.Count, want)}
	}
	f.Proof = fmt.Sprintf("fired %d times, counted by the probe", f.Count)
	hits := p.in.Controller.Hits()
	for at, h := range hits {
		if h.Fault != p.i {
			continue
		}
		switch h.Did {
		case term.Cancel, term.Deadline:
			if !contextObserved(h, hits[at+1:]) {
				return harness.Firing{Miss: harness.MissUnobserved, Proof: fmt.Sprintf(
					"the context of %s, pid %d in its world, was ended at %s, and the call went on as if it were not",
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

// passed is how often the fault's point was passed while it was armed.
func (p *probed) passed() (n int) {
	f := p.in.plan[p.i]
	for _, h := range p.in.Controller.Hits() {
		if h.Ask && h.Point == f.At.String() && (f.At.Kind != failpoints.Stmt || probe.DecidedAt(f.Do, h.Hit)) {
			n++
		}
	}
	return n
}

// contextObserved reports whether a call whose context was ended has failed. A handler
// may not look at its context at all, and then nothing was broken. At an exit point the
// probe itself puts the context's error in the place of the outcome.
func contextObserved(h failpoints.Hit, later []failpoints.Hit) bool {
	at, err := failpoints.ParsePoint(h.Point)
	if err != nil || at.Where == "exit" {
		return err == nil
	}
	if at.Kind == failpoints.Stmt { // the probe tells whether the context at hand has ended with the request
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
	return true // it never came back
}

// firstHit is which hit of its point a term does something at.
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

// leastHits is how often a term must have done something until each of its parts has at
// least once: 1*error->1*crash has not happened before the crash has.
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

// crashPatience is how long the end of a process that has sent SIGKILL to itself may take
// to be seen, crashLook how often it is looked for, and reapPatience how long the news of
// it takes from the world's init once the process is gone.
const (
	crashPatience = 5 * time.Second
	crashLook     = 2 * time.Millisecond
	reapPatience  = 100 * time.Millisecond
)

// crashed says how it is known that a process which was asked to send SIGKILL to itself
// has ended, or why the fault came to nothing. init reaps containerd and the shims and
// tells with what; of a short-lived helper (`shim start`, `shim delete`) containerd is
// the parent, and that it is gone is all there is to see: it does nothing after the
// signal.
func (in *Injector) crashed(ctx context.Context, h failpoints.Hit) (string, harness.Firing) {
	miss := func(kind harness.Miss, why string) (string, harness.Firing) {
		return "", harness.Firing{
			Miss:  kind,
			Proof: fmt.Sprintf("%s, pid %d in its world, was asked to crash and was not seen to: %s", h.Who, h.PID, why),
		}
	}
	if err := in.awaitGone(ctx, h.PID); err != nil {
		return miss("", err.Error())
	}
	reaped, cancel := context.WithTimeout(ctx, reapPatience)
	defer cancel()
	e, err := in.World.Exited(reaped, h.PID)
	if err != nil {
		return "is gone, reaped by its parent", harness.Firing{}
	}
	if e.Code() != 128+uint32(unix.SIGKILL) {
		return miss(harness.MissAlreadyExited, fmt.Sprintf("it was reaped with %d", e.Code()))
	}
	return fmt.Sprintf("was reaped with %d", e.Code()), harness.Firing{}
}

// awaitGone waits until a pid of the world is no process any more.
func (in *Injector) awaitGone(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, crashPatience)
	defer cancel()
	if err := poll.Until(ctx, crashLook, func() (bool, error) {
		_, err := os.Stat(in.World.Inside(fmt.Sprintf("/proc/%d", pid)))
		return errors.Is(err, fs.ErrNotExist), nil
	}); err != nil {
		return fmt.Errorf("pid %d is still there: %w", pid, err)
	}
	return nil
}
