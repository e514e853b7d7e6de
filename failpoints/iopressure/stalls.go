package iopressure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// interval is the time between two samples of a process. The measured length of a stall
// is too short by at most twice this time, and a shorter stall may be missed.
const interval = 20 * time.Millisecond

// Stall is one wait of a thread in umount2.
type Stall struct {
	PID, TID int       // in the PID namespace of the procfs that was watched
	Path     string    // the mount point, if it could be read
	Start    time.Time // the first sample in umount2
	// Lasted is the time from the first to the last sample. Calls with the same arguments
	// within 20 ms of one another count as one.
	Lasted time.Duration

	call string // the call's line in /proc, which is the best identification of one call
}

// String returns "umount2(/run/x/rootfs) took 11.8s in thread 41 of pid 40".
func (s Stall) String() string {
	return fmt.Sprintf("umount2(%s) took %v in thread %d of pid %d", s.Path, s.Lasted.Round(interval), s.TID, s.PID)
}

// Stalls watches one process.
type Stalls struct {
	pid    int
	task   *os.Root
	cancel context.CancelFunc
	done   chan struct{}

	// Of the watch, until done is closed.
	list []Stall
	open map[string]int // thread -> index in list
	err  error
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
	ctx, cancel := context.WithCancel(ctx)
	s := &Stalls{pid: pid, task: task, cancel: cancel, done: make(chan struct{}), open: map[string]int{}}
	if err := s.sample(); err != nil {
		cancel()
		return nil, errors.Join(fmt.Errorf("watch pid %d: %w", pid, err), task.Close())
	}
	go s.run(ctx)
	return s, nil
}

// Stop ends the watch, and returns the stalls in the order of their starts. The end of
// the process is no error.
func (s *Stalls) Stop() ([]Stall, error) {
	s.cancel()
	<-s.done
	return s.list, s.err
}

func (s *Stalls) run(ctx context.Context) {
	defer close(s.done)
	defer func() { _ = s.task.Close() }()
	tick := time.Tick(interval)
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			ended = true // after a last sample
		case <-tick:
		}
		if err := s.sample(); err != nil {
			if !isGone(err) {
				s.err = fmt.Errorf("watch pid %d: %w", s.pid, err)
			}
			return
		}
	}
}

// isGone reports whether an error of /proc means that the thread or process has ended.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) }

// sample looks at the system call of every thread.
func (s *Stalls) sample() error {
	dir, err := s.task.Open(".")
	if err != nil {
		return err
	}
	tids, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil {
		return err
	}
	for _, tid := range tids {
		text, err := s.task.ReadFile(tid + "/syscall")
		if isGone(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("run as root (CAP_SYS_PTRACE): %w", err)
		}
		if err := s.note(tid, strings.TrimSpace(string(text)), time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// note adds one sample of one thread to the list. The line is the number and the
// arguments of the system call in which the thread waits (proc_pid_syscall(5)). It shows
// umount2 also on the return to user mode (task work: cleanup_mnt, ovl_sync_fs), because
// the saved registers still hold the number (measured on 6.18).
func (s *Stalls) note(tid, line string, at time.Time) error {
	if line == "running" { // within the call or after it: the next sample decides
		return nil
	}
	address, inside, err := parseSyscall(line)
	if err != nil || !inside {
		delete(s.open, tid)
		return err
	}
	if i, open := s.open[tid]; open && s.list[i].call == line {
		s.list[i].Lasted = at.Sub(s.list[i].Start)
		return nil
	}
	n, _ := strconv.Atoi(tid) // /proc names threads by number
	s.open[tid] = len(s.list)
	s.list = append(s.list, Stall{PID: s.pid, TID: n, Path: pathAt(s.task, tid, address), Start: at, call: line})
	return nil
}

// parseSyscall returns the address of the path to unmount, and whether the line is a call
// of umount2. A line has the number, six arguments, SP and PC, all but the first in hex;
// or "-1 SP PC" in no system call.
func parseSyscall(line string) (address uint64, inside bool, err error) {
	number, rest, _ := strings.Cut(line, " ")
	nr, err := strconv.Atoi(number)
	if err == nil && nr == unix.SYS_UMOUNT2 {
		first, _, _ := strings.Cut(rest, " ")
		address, err = strconv.ParseUint(first, 0, 64)
		inside = err == nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("/proc/TID/syscall: %w", err)
	}
	return address, inside, nil
}

// pathAt reads the path argument of umount2 from the thread's memory. It returns "" if
// the memory cannot be read: the path only illustrates the evidence.
func pathAt(task *os.Root, tid string, address uint64) string {
	f, err := task.Open(tid + "/mem")
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	buf := make([]byte, unix.PathMax)
	n, _ := f.ReadAt(buf, int64(address&(1<<62-1))) // stops short at the end of the mapping
	path, _, whole := strings.Cut(string(buf[:n]), "\x00")
	if !whole {
		return ""
	}
	return path
}
