package runner

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A run is invalid if this program was frozen for stillLimit (SIGSTOP, or a suspended
// machine), because timeouts then expired without a reason. It is also invalid if the
// wall clock jumped by stepLimit, because the recorded times can then not be compared.
const clockTick, stillLimit, stepLimit = 250 * time.Millisecond, 2 * time.Second, 500 * time.Millisecond

// reading is the time of two clocks at the same moment.
type reading struct {
	boot time.Duration // CLOCK_BOOTTIME, which counts while the machine is suspended
	wall time.Duration // CLOCK_REALTIME
}

func readClocks() reading {
	var boot, wall unix.Timespec
	// Neither call fails on Linux 2.6.39 and newer.
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot)
	_ = unix.ClockGettime(unix.CLOCK_REALTIME, &wall)
	return reading{time.Duration(boot.Nano()), time.Duration(wall.Nano())}
}

// since returns an error if r is much more than clockTick later than the reading before,
// or if the wall clock jumped between them.
func (r reading) since(last reading) error {
	still := r.boot - last.boot - clockTick
	step := (r.wall - last.wall) - (r.boot - last.boot)
	switch {
	case still >= stillLimit:
		return fmt.Errorf("shimquake was frozen for %s during the case (SIGSTOP, or a suspended machine): run it again",
			still.Round(100*time.Millisecond))
	case step.Abs() >= stepLimit:
		return fmt.Errorf("the clock of this machine jumped by %s during the case: run it again",
			step.Round(100*time.Millisecond))
	}
	return nil
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

// watchMachine watches this program and its machine. It calls problem with each reason
// why the run is invalid. The first error of the function frozen is also such a reason.
// The returned function checks once more and ends the watch. It may be called more than
// once.
func watchMachine(problem func(error), frozen func() error) (stop func()) {
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
			if err := frozen(); err != nil && !told[err.Error()] {
				told[err.Error()] = true
				problem(err)
			}
			last = now
		}
	}()
	return sync.OnceFunc(func() {
		close(end)
		<-ended
	})
}
