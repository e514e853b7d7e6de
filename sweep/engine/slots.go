package engine

import (
	"sync"
	"time"

	"github.com/prometheus/procfs"
)

// slots limit the number of cases that work concurrently, so the processors are not
// overloaded. A case that only waits for leftovers to vanish yields its slot meanwhile.
// While the processors are idle, a case may start without a free slot.
type slots struct {
	free chan struct{}
	cpu  func() cpuUse

	mu    sync.Mutex
	extra int // cases that started without a free slot, and still run
	used  cpuUse
}

// newSlots returns n slots.
func newSlots(n int) *slots {
	s := &slots{free: make(chan struct{}, n), cpu: readCPU}
	for range n {
		s.free <- struct{}{}
	}
	return s
}

// sampled is the time over which the use of the processors is measured.
const sampled = 250 * time.Millisecond

// take waits for a slot, or until the processors are idle. A nil slots has no limit.
func (s *slots) take() {
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

func (s *slots) give() {
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
func (s *slots) idle() bool {
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

// grace is how long a case waits before it yields its slot. Most waits are shorter, and a
// case that had to queue for a slot again would keep its containerd in memory longer.
const grace = 300 * time.Millisecond

// yield yields the slot while wait runs, and takes a slot again afterwards.
func (s *slots) yield(wait func()) {
	given := time.AfterFunc(grace, s.give)
	wait()
	if !given.Stop() {
		s.take()
	}
}
