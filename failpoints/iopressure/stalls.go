package iopressure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// interval is the time between two samples of a process. The measured length of a stall
// is wrong by at most twice this time, and a shorter stall may be missed.
const interval = 20 * time.Millisecond

// flush is the kernel's function in which umount2 waits for the pages of an overlay.
const flush = "ovl_sync_fs"

// Stall is one wait of a thread in umount2.
type Stall struct {
	PID   int       `json:"pid"` // in the PID namespace of the procfs that was watched
	TID   int       `json:"tid"`
	Path  string    `json:"path,omitempty"` // the mount point, if it could be read
	Start time.Time `json:"start"`          // the first sample in umount2
	// Lasted is the time from the first to the last sample: the true length, or up to 40
	// ms less. Calls with the same arguments within 20 ms of one another count as one.
	Lasted time.Duration `json:"lasted"`
	Over   bool          `json:"over"` // the stall ended during the watch
	// Stack is the kernel's stack, innermost first, if the kernel shows it. It is the first
	// one with ovl_sync_fs, which proves that the call waits for the flush. If there is
	// none, it is the last one.
	Stack []string `json:"stack,omitempty"`

	call string
}

// String returns "umount2(/run/x/rootfs) took 11.8s in thread 41 of pid 40".
func (s Stall) String() string {
	verb := "took"
	if !s.Over {
		verb = "has taken"
	}
	return fmt.Sprintf("umount2(%s) %s %v in thread %d of pid %d", s.Path, verb, s.Lasted.Round(interval), s.TID, s.PID)
}

// Stalls watches one process. Its methods may be called during the watch and after it.
type Stalls struct {
	pid    int
	task   *os.Root
	look   sampler
	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex
	list []Stall
	open map[string]int // thread -> index in list
	// unsure counts the open stalls whose thread was on a CPU in the last sample.
	unsure int
	err    error
}

// Watch records how long each thread of pid waits in umount2, from now until Stop, the
// end of ctx or the end of the process. procRoot is a mounted procfs: "/proc", or a
// world's. pid is a number in its PID namespace. Watch returns an error if the process
// has ended or may not be inspected.
func Watch(ctx context.Context, procRoot string, pid int) (*Stalls, error) {
	// The open folder is bound to this process: reads fail once it has ended, even if its
	// pid is in use again.
	task, err := os.OpenRoot(filepath.Join(procRoot, strconv.Itoa(pid), "task"))
	if err != nil {
		return nil, fmt.Errorf("watch pid %d: %w", pid, err)
	}
	look, err := pickSampler(task, strconv.Itoa(pid))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("watch pid %d: %w", pid, err), task.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &Stalls{pid: pid, task: task, look: look, cancel: cancel, done: make(chan struct{}), open: map[string]int{}}
	go s.run(ctx)
	return s, nil
}

// Stop ends the watch and returns its errors. The end of the process is no error.
func (s *Stalls) Stop() error {
	s.cancel()
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// All returns the stalls so far, in the order of their starts.
func (s *Stalls) All() []Stall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Stall(nil), s.list...)
}

// Longest returns the longest stall so far; false if there was none.
func (s *Stalls) Longest() (Stall, bool) {
	var longest Stall
	all := s.All()
	for _, st := range all {
		if st.Lasted >= longest.Lasted {
			longest = st
		}
	}
	return longest, len(all) > 0
}

func (s *Stalls) run(ctx context.Context) {
	defer close(s.done)
	defer func() { _ = s.task.Close() }()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		err := s.round()
		if ended(err) {
			return
		}
		if err != nil {
			s.mu.Lock()
			s.err = fmt.Errorf("watch pid %d: %w", s.pid, err)
			s.mu.Unlock()
			return
		}
		select {
		case <-ctx.Done():
			s.finish()
			return
		case <-tick.C:
		}
	}
}

// finish takes a last sample, to mark the stalls that have ended. It takes a few more
// while a thread is on a CPU, because /proc does not show its call then.
func (s *Stalls) finish() {
	tick := time.NewTicker(interval / 10)
	defer tick.Stop()
	for range 10 {
		if err := s.round(); err != nil || s.isSure() {
			return
		}
		<-tick.C
	}
}

// round takes a sample of every thread.
func (s *Stalls) round() error {
	dir, err := s.task.Open(".")
	if err != nil {
		return s.gone(err)
	}
	tids, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil {
		return s.gone(err)
	}
	seen := make(map[string]bool, len(tids))
	s.mu.Lock()
	s.unsure = 0
	s.mu.Unlock()
	for _, tid := range tids {
		now, err := s.look(s.task, tid)
		if ended(err) {
			continue
		}
		if err != nil {
			return err
		}
		seen[tid] = true
		s.note(tid, now, time.Now())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for tid := range s.open {
		if !seen[tid] {
			s.end(tid)
		}
	}
	return nil
}

// gone ends all stalls after the end of the process.
func (s *Stalls) gone(err error) error {
	if ended(err) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for tid := range s.open {
			s.end(tid)
		}
	}
	return err
}

// note adds one sample of one thread to the list.
func (s *Stalls) note(tid string, now sample, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, open := s.open[tid]
	switch {
	case now.state == unknown:
		if open {
			s.unsure++
		}
		return // within the call or after it: the next sample decides
	case open && now.state == inside && s.list[i].call == now.call:
		st := &s.list[i]
		st.Lasted = at.Sub(st.Start)
		if st.Stack == nil || len(st.Stack) > 0 && !slices.Contains(st.Stack, flush) {
			st.Stack = s.stack(tid) // it may not have come to the flush before
		}
		return
	case open:
		s.end(tid)
	}
	if now.state == inside {
		n, _ := strconv.Atoi(tid) // /proc names threads by number
		s.open[tid] = len(s.list)
		s.list = append(s.list, Stall{PID: s.pid, TID: n, Path: pathAt(s.task, tid, now.arg), Start: at, call: now.call})
	}
}

func (s *Stalls) isSure() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unsure == 0
}

func (s *Stalls) end(tid string) {
	s.list[s.open[tid]].Over = true
	delete(s.open, tid)
}

// stack returns the thread's kernel stack; empty, not nil, if the kernel does not show
// it.
func (s *Stalls) stack(tid string) []string {
	b, err := s.task.ReadFile(tid + "/stack")
	if err != nil {
		return []string{}
	}
	return append([]string{}, functions(string(b))...)
}
