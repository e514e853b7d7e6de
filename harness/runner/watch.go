package runner

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/harness"
)

// A run is invalid if the wall clock jumped by stepLimit, because the recorded times can
// then not be compared.
const clockTick, stepLimit = 250 * time.Millisecond, 500 * time.Millisecond

// reading is the time of two clocks, and how long the reading took.
type reading struct {
	boot time.Duration // CLOCK_BOOTTIME, which counts while the machine is suspended
	wall time.Duration // CLOCK_REALTIME
	took time.Duration
	// starved is the time in which the world's processes wanted a processor, and had none.
	starved time.Duration
}

func boottime() time.Duration {
	var at unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &at) // does not fail on Linux 2.6.39 and newer
	return time.Duration(at.Nano())
}

func readClocks() reading {
	r := reading{boot: boottime(), wall: time.Duration(time.Now().UnixNano())}
	r.took = boottime() - r.boot
	return r
}

// since returns an error if the wall clock jumped since another reading. This program may
// not have run for some time between its readings of the two clocks.
func (r reading) since(last reading) error {
	step := (r.wall - last.wall) - (r.boot - last.boot)
	if step.Abs() < stepLimit+r.took+last.took {
		return nil
	}
	return fmt.Errorf("the clock of this machine jumped by %s during the case: run it again",
		step.Round(100*time.Millisecond))
}

// stall returns the time since the last reading, if this program or the world's processes
// stood still for three quarters of it. Late ticks of this program are not enough,
// because Linux prefers a waking thread to a busy one.
func (r reading) stall(last reading) (harness.Stall, bool) {
	took := r.boot - last.boot
	still := max(took-clockTick, r.starved-last.starved)
	return harness.Stall{From: time.Unix(0, int64(r.wall-took)), For: took}, 4*still >= 3*took
}

// canOpen returns an error if this program cannot open a file. The reasons are too many
// open files (EMFILE, ENFILE) or too little memory (ENOMEM).
func canOpen() error {
	f, err := os.Open(os.DevNull) //nolint:forbidigo // a device of the host
	if err != nil {
		return fmt.Errorf("shimquake could not open a file during the case: %w", err)
	}
	return f.Close()
}

// watchMachine watches this program and its machine, and calls look for the state of the
// world's processes. It calls stalled with each stall, and problem with each reason why
// the run is invalid. The first error of look is also such a reason. The returned
// function checks once more and ends the watch. It may be called more than once.
func watchMachine(problem func(error), stalled func(harness.Stall),
	look func() (starved time.Duration, frozen error)) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticks := time.NewTicker(clockTick)
		defer ticks.Stop()
		told := map[string]bool{}
		for last, more := readClocks(), true; more; {
			select {
			case <-ticks.C:
			case <-end:
				more = false
			}
			now := readClocks()
			if err := errors.Join(now.since(last), canOpen()); err != nil {
				problem(err)
			}
			var err error
			if now.starved, err = look(); err != nil && !told[err.Error()] {
				told[err.Error()] = true
				problem(err)
			}
			if s, is := now.stall(last); is {
				stalled(s)
			}
			last = now
		}
	}()
	return sync.OnceFunc(func() {
		close(end)
		<-ended
	})
}
