package sweep

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/procfs"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/plan"
)

// Slots limit the number of cases that work concurrently, so the processors are not
// overloaded. A case that only waits for leftovers to vanish yields its slot meanwhile.
// While the processors are idle, a case may start without a free slot.
type Slots struct {
	free chan struct{}
	cpu  func() cpuUse

	mu    sync.Mutex
	extra int // cases that started without a free slot, and still run
	used  cpuUse
}

// NewSlots returns n slots.
func NewSlots(n int) *Slots {
	s := &Slots{free: make(chan struct{}, n), cpu: readCPU}
	for range n {
		s.free <- struct{}{}
	}
	return s
}

// sampled is the time over which the use of the processors is measured.
const sampled = 250 * time.Millisecond

// take waits for a slot, or until the processors are idle. A nil Slots has no limit.
func (s *Slots) take() {
	if s == nil {
		return
	}
	for {
		select {
		case <-s.free:
			return
		case <-time.After(sampled):
			if s.idle() {
				return
			}
		}
	}
}

func (s *Slots) give() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.extra > 0 {
		s.extra--
		return
	}
	s.free <- struct{}{}
}

// enoughIdle is the share of idle processor time above which another case may start. The
// start of a case takes a third of one processor for a second.
const enoughIdle = 0.1

// idle reports whether another case may start because the processors were idle since the
// last sample. It counts that case.
func (s *Slots) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.used.at) < sampled {
		return false
	}
	before := s.used
	s.used = s.cpu()
	if s.used.share(before) < enoughIdle {
		return false
	}
	s.extra++
	return true
}

// cpuUse is the time of all processors since the start of the machine, in seconds.
type cpuUse struct {
	at          time.Time
	idle, whole float64
}

// readCPU returns the use until now. If /proc/stat cannot be read, the processors were
// never idle.
func readCPU() cpuUse {
	u := cpuUse{at: time.Now()}
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return u
	}
	stat, err := fs.Stat()
	if err != nil {
		return u
	}
	c := stat.CPUTotal
	u.idle = c.Idle + c.Iowait + c.Nice // programs with a low priority give way to a case
	u.whole = u.idle + c.User + c.System + c.IRQ + c.SoftIRQ + c.Steal
	return u
}

// share returns the share of time that was idle since before.
func (u cpuUse) share(before cpuUse) float64 {
	if before.whole == 0 || u.whole <= before.whole {
		return 0
	}
	return (u.idle - before.idle) / (u.whole - before.whole)
}

// Run runs a case in a slot.
func (s *Slots) Run(ctx context.Context, e plan.Engine, c harness.Case) harness.Verdict {
	s.take()
	defer s.give()
	return e.Run(ctx, c)
}

// grace is how long a case waits before it yields its slot. Most waits are shorter, and a
// case that had to queue for a slot again would keep its containerd in memory longer.
const grace = 300 * time.Millisecond

// Yield yields the slot while wait runs, and takes a slot again afterwards. It is the
// value of runner.Runner's Yield.
func (s *Slots) Yield(wait func()) {
	given := time.AfterFunc(grace, s.give)
	wait()
	if !given.Stop() {
		s.take()
	}
}

// Worlds returns the number of cases that may exist at a time, if `working` of them may
// work concurrently. The number is limited because each keeps a containerd in memory.
func (s *Slots) Worlds(working int) int {
	if s == nil {
		return max(working, 1)
	}
	return 4 * max(working, 1)
}
