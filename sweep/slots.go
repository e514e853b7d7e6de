package sweep

import (
	"context"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/plan"
)

// Slots limit the number of cases that work concurrently. A case that only waits for
// leftovers to vanish yields its slot meanwhile. So the processors are neither idle nor
// overloaded.
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

// grace is how long a case waits before it yields its slot. Most waits are shorter, and a
// case that had to queue for a slot again would keep its containerd in memory longer.
const grace = 300 * time.Millisecond

// Yield yields the slot while wait runs, and takes a slot again afterwards. It is the
// value of runner.Runner's Yield.
func (s Slots) Yield(wait func()) {
	given := time.AfterFunc(grace, s.give)
	wait()
	if !given.Stop() {
		s.take()
	}
}

// Worlds returns the number of cases that may exist at a time, if `working` of them may
// work concurrently. The number is limited because each keeps a containerd in memory.
func (s Slots) Worlds(working int) int {
	if s == nil {
		return max(working, 1)
	}
	return 4 * max(working, 1)
}
