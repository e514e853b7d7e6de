package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"pgregory.net/rapid"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
)

// Random draws plans of several faults and runs them. The n-th plan is drawn by rapid from the seed Seed+n-1 and the points of Base alone, so a seed
// with the same Base is the same plan. A violation that the catalogue does not know is shrunk by rapid, once for each thing that is left.
type Random struct {
	Engine Engine
	// Base is a plan of single faults: random plans are made of its steady ones.
	Base Plan
	// Seed of the first plan; not 0.
	Seed uint64
	// For is how long new plans are begun. Default: until Plans have been.
	For time.Duration
	// Plans is how many plans are drawn at most. Default: as many as time allows.
	Plans int
	// Parallel is how many cases work at once, Slots those of the Engine, if it has some. Default: 1.
	Parallel int
	Slots    Slots
	// Shrink is how long rapid may make one violation smaller. Default: rapid's own, 30s.
	Shrink time.Duration
	Known  []catalogue.Finding
	// OnDraw, if any, is told of each plan that was run; one at a time.
	OnDraw func(Draw) error

	draws chan Draw

	mu      sync.Mutex
	next    uint64
	claimed map[string]bool // what has been left by a plan that is, or was, shrunk
}

// Draw is a plan that was run. Those that rapid tried while it shrank are not among them, but what it came to is.
type Draw struct {
	Seed uint64 `json:"seed"`
	Spec Spec   `json:"spec"`
	// Shrunk says that the plan is what rapid has made of the seed's own. Odd tells what rapid said when it could not reproduce the violation.
	Shrunk bool   `json:"shrunk,omitempty"`
	Odd    string `json:"odd,omitempty"`
	Result

	target []Signature // what it was shrunk for
}

// RandomRun is what came of random plans: the plan that they make up together, and the results, for NewReport.
type RandomRun struct {
	Head    Head
	Results []Result
	// Shrunk is what rapid has made of new violations, by their indices in the plan.
	Shrunk map[int]Draw
	// Drawn plans, and of them those that had a fault which was not reached.
	Drawn, Missed int
}

// shrinkTries is how often a smaller plan is run until it is believed to be without the violation.
const shrinkTries = 2

// Run draws and runs plans until the time is up. When ctx ends it returns those so far with ErrInterrupted.
func (r *Random) Run(ctx context.Context) (RandomRun, error) {
	if r.Seed == 0 || r.For <= 0 && r.Plans <= 0 {
		return RandomRun{}, errors.New("random plans need a seed that is not 0, and an end: a time or a number")
	}
	deeds := newDeedsOf(r.Base)
	if len(deeds) == 0 {
		return RandomRun{}, &EmptyError{Filter: "--random", Before: len(r.Base.Specs), Options: r.Base.Options}
	}
	c, err := newChecker(cmp.Or(r.Shrink, 30*time.Second))
	if err != nil {
		return RandomRun{}, err
	}
	defer c.close()
	r.next, r.claimed, r.draws = 0, map[string]bool{}, make(chan Draw)
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	until := time.Now().Add(r.For)
	var workers sync.WaitGroup
	for range r.Slots.worlds(r.Parallel) {
		workers.Go(func() {
			for running.Err() == nil && (r.For <= 0 || time.Now().Before(until)) {
				seed, ok := r.take()
				if !ok {
					return
				}
				if err := r.one(running, c, deeds.random(), seed); err != nil {
					stop(err)
				}
			}
		})
	}
	go func() {
		workers.Wait()
		close(r.draws)
	}()
	run := RandomRun{Shrunk: map[int]Draw{}}
	run.Head.Plan = Plan{Containerd: r.Base.Containerd, Version: r.Base.Version, Subject: r.Base.Subject, Places: r.Base.Places,
		Options: fmt.Sprintf("--random --seed %d, from plan %s", r.Seed, r.Base.Digest)}
	for d := range r.draws {
		run.add(d)
		if r.OnDraw != nil {
			if err := r.OnDraw(d); err != nil {
				stop(err)
			}
		}
	}
	run.Head.Plan.Digest = run.Head.Plan.digest()
	switch cause := context.Cause(running); {
	case ctx.Err() != nil:
		return run, ErrInterrupted
	default:
		return run, cause
	}
}

// add takes a draw in.
func (run *RandomRun) add(d Draw) {
	d.I = len(run.Head.Plan.Specs)
	run.Head.Plan.Specs = append(run.Head.Plan.Specs, d.Spec)
	run.Results = append(run.Results, d.Result)
	if d.Shrunk {
		run.Shrunk[d.I] = d
		return
	}
	run.Drawn++
	if d.Outcome == harness.Invalid {
		run.Missed++
	}
}

// take is the next seed.
func (r *Random) take() (uint64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Plans > 0 && r.next >= uint64(r.Plans) {
		return 0, false
	}
	r.next++
	return r.Seed + r.next - 1, true
}

// one draws the plan of a seed, runs it, and shrinks it if it shows something new.
func (r *Random) one(ctx context.Context, c *checker, plans *rapid.Generator[Spec], seed uint64) error {
	s := &shrinking{ctx: ctx, random: r, seen: map[Spec]bool{}}
	b := c.check(seed, func(t *rapid.T) {
		spec := plans.Draw(t, "plan")
		if s.violates(spec) { // always the same words: rapid takes other words for another failure
			t.Fatalf("%s", signature(s.target))
		}
	})
	if s.err != nil || ctx.Err() != nil {
		return s.err
	}
	if s.drawn == nil {
		return fmt.Errorf("rapid drew no plan from seed %d: %v", seed, b.log)
	}
	s.drawn.Seed = seed
	r.draws <- *s.drawn
	if s.smallest != nil {
		s.smallest.Seed, s.smallest.Shrunk, s.smallest.target = seed, true, s.target
		if !b.Failed() {
			s.smallest.Odd = fmt.Sprint(b.log)
		}
		r.draws <- *s.smallest
	}
	return nil
}
