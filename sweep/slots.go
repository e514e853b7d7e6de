package sweep

import (
	"context"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/plan"
)

// Slots are how many cases work concurrently. A case that only waits for what may still
// go away gives its slot to another one meanwhile, so that neither do the processors idle
// nor is a busy machine made busier.
type Slots chan struct{}

// NewSlots are n slots.
func NewSlots(n int) Slots {
	s := make(Slots, n)
	for range n {
		s <- struct{}{}
	}
	return s
}

// take waits for a slot. No slots at all are as many as one likes.
func (s Slots) take() {
	if s != nil {
		<-s
	}
}

func (s Slots) give() {
	if s != nil {
		s <- struct{}{}
	}
}

// Run runs a case in a slot.
func (s Slots) Run(ctx context.Context, e plan.Engine, c harness.Case) harness.Verdict {
	s.take()
	defer s.give()
	return e.Run(ctx, c)
}

// grace is how long a wait may take before the slot is given away: most of them end with
// the first look, and a case that has to queue for its slot again keeps its world for
// longer.
const grace = 300 * time.Millisecond

// Yield gives the slot away while wait runs, and takes one again when it has ended: it is
// for runner.Runner.
func (s Slots) Yield(wait func()) {
	given := time.AfterFunc(grace, s.give)
	wait()
	if !given.Stop() {
		s.take()
	}
}

// Worlds is how many cases there may be where that many work concurrently. Each keeps a
// containerd in memory.
func (s Slots) Worlds(working int) int {
	if s == nil {
		return max(working, 1)
	}
	return 4 * max(working, 1)
}
