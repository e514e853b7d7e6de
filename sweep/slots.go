package sweep

import (
	"context"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/plan"
)

// Slots limit the number of cases that work concurrently. A case that only waits for
// leftovers yields its slot meanwhile. So the processors are neither idle nor overloaded.
type Slots chan struct{}

// NewSlots returns n slots.
func NewSlots(n int) Slots {
	s := make(Slots, n)
	for range n {
		s <- struct{}{}
	}
	return s
}

// take waits for a slot. A nil Slots has no limit.
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

// grace is how long a wait may take before the slot is yielded. Most waits end with the
// first check, and a case that queues for its slot again keeps its world longer.
const grace = 300 * time.Millisecond

// Yield yields the slot while wait runs, and takes one again afterwards: it is for
// runner.Runner.
func (s Slots) Yield(wait func()) {
	given := time.AfterFunc(grace, s.give)
	wait()
	if !given.Stop() {
		s.take()
	}
}

// Worlds returns the number of cases that may exist if that many work concurrently. Each
// keeps a containerd in memory.
func (s Slots) Worlds(working int) int {
	if s == nil {
		return max(working, 1)
	}
	return 4 * max(working, 1)
}
