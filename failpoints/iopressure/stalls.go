package iopressure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// interval is the time between two looks at a process. A stall's length is known to
// twice that; ones shorter than it may go unseen.
const interval = 20 * time.Millisecond

// Stall is one wait of a thread in umount2.
type Stall struct {
	PID   int       `json:"pid"` // as the procfs that was watched numbers them
	TID   int       `json:"tid"`
	Path  string    `json:"path,omitempty"` // what was unmounted, if it could be read
	Start time.Time `json:"start"`          // when it was first seen
	// Lasted is from the first to the last time that it was seen, so it is at most
	// the true length, and less by up to 40 ms. Calls that follow one another
	// within 20 ms with the same arguments count as one.
	Lasted time.Duration `json:"lasted"`
	Over   bool          `json:"over"` // it ended while being watched
	// Stack is the kernel's, innermost first, when the kernel shows it. ovl_sync_fs
	// in it is the proof that the wait is the flush.
	Stack []string `json:"stack,omitempty"`

	call string
}

// String is "umount2(/run/x/rootfs) took 11.8s in thread 41 of pid 40".
func (s Stall) String() string {
	verb := "took"
	if !s.Over {
		verb = "has taken"
	}
	return fmt.Sprintf("umount2(%s) %s %v in thread %d of pid %d", s.Path, verb, s.Lasted.Round(interval), s.TID, s.PID)
}

// Stalls watches one process. Its methods may be called while it watches, and after.
type Stalls struct {
	pid    int
	task   *os.Root
	look   sampler
	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex
	list []Stall
	open map[string]int // thread -> index in list
	// unsure counts the open stalls whose thread was on a CPU at the last look.
	unsure int
	err    error
}

// Watch records how long each thread of pid waits in umount2, from now until Stop, the
// end of ctx or the end of the process. procRoot is a mounted procfs, "/proc" or that of
// a world (/proc/INIT/root/proc), and pid is counted in its PID namespace.
// It returns an error when the process is gone or may not be looked into.
func Watch(ctx context.Context, procRoot string, pid int) (*Stalls, error) {
	// Held open, the folder is this process's for good: once it has ended, reading
	// fails, though its pid may be in use again.
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

// Stop ends the watch and returns what went wrong in it, if anything. The end of the
// process is no error.
func (s *Stalls) Stop() error {
	s.cancel()
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// All are the stalls seen so far, in the order of their starts.
func (s *Stalls) All() []Stall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Stall(nil), s.list...)
}

// Longest is the longest stall seen so far; false when there was none.
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

// finish takes a last look, so that a wait that is over is called so, and a few more
// where a thread was running, which does not tell.
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

// round looks once at every thread.
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

// gone ends all stalls when the process has ended.
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

// note takes one sample of one thread into the list.
func (s *Stalls) note(tid string, now sample, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, open := s.open[tid]
	switch {
	case now.state == unknown:
		if open {
			s.unsure++
		}
		return // between two waits of one call, or after it: the next look tells
	case open && now.state == inside && s.list[i].call == now.call:
		st := &s.list[i]
		st.Lasted = at.Sub(st.Start)
		if st.Stack == nil {
			st.Stack = s.stack(tid)
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

// stack is the thread's kernel stack; empty, not nil, when it is not shown.
func (s *Stalls) stack(tid string) []string {
	b, err := s.task.ReadFile(tid + "/stack")
	if err != nil {
		return []string{}
	}
	return append([]string{}, functions(string(b))...)
}
