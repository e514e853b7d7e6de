package runner

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/shimquake/shimquake/fixtures/world/wire"
	"github.com/shimquake/shimquake/harness"
)

// A run is invalid if the wall clock jumped by stepLimit, because the recorded times can
// then not be compared. The watch looks each clockTick, or twice in the time of a shorter
// judge.StallLimit.
const clockTick, stepLimit = 250 * time.Millisecond, 500 * time.Millisecond

// reading is the time of two clocks, and how long the reading took.
type reading struct {
	boot  time.Duration // wire.UpTime
	wall  time.Duration // CLOCK_REALTIME
	took  time.Duration
	still time.Duration // in which the world's processes stood still
}

func readClocks() reading {
	r := reading{boot: wire.UpTime(), wall: time.Duration(time.Now().UnixNano())}
	r.took = wire.UpTime() - r.boot
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

// stall returns how long this program or the world's processes stood still since the last
// reading. A delay of less than a tick does not count, nor a world that ran for a quarter
// of the time. The world may report a longer time when it runs again.
func (r reading) stall(last reading, tick time.Duration) (harness.Stall, bool) {
	took := r.boot - last.boot
	all := took - tick
	is := all >= tick
	if still := r.still - last.still; 4*still >= 3*took {
		all, is = max(took, still), true
	}
	return harness.Stall{From: time.Unix(0, int64(r.wall-all)), For: all}, is
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

// watchMachine watches this program and its machine at each tick. It calls stalled with
// each time in which this program stood still, or the world's processes did (the function
// still). It calls problem with each other reason why the run is invalid. The returned
// function checks once more and ends the watch. It may be called more than once.
func watchMachine(
	tick time.Duration, problem func(error), stalled func(harness.Stall), still func() time.Duration,
) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticks := time.Tick(tick)
		for last, more := readClocks(), true; more; {
			select {
			case <-ticks:
			case <-end:
				more = false
			}
			now := readClocks()
			if err := errors.Join(now.since(last), canOpen()); err != nil {
				problem(err)
			}
			now.still = still()
			if s, is := now.stall(last, tick); is {
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
