package harness

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// crashPatience is how long the end of a process that has sent SIGKILL to itself may take to be seen, and reapPatience how long the news of it takes
// from the world's init once the process is gone.
const (
	crashPatience = 5 * time.Second
	reapPatience  = 100 * time.Millisecond
)

// errOvertaken is the error for a process that has ended by itself before its crash.
var errOvertaken = errors.New("it was reaped with")

// crashed says how it is known that a process which was told to send SIGKILL to itself has ended. init reaps containerd and the shims and tells with
// what; of a short-lived helper (`shim start`, `shim delete`) containerd is the parent, and that it is gone is all there is to see: it does nothing
// after the signal.
func (in *injector) crashed(pid int) (string, error) {
	ctx, cancel := context.WithTimeout(in.x.ctx, crashPatience)
	defer cancel()
	err := until(ctx, func(context.Context) error {
		if _, err := os.Stat(in.x.world.Inside(fmt.Sprintf("/proc/%d", pid))); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(fmt.Errorf("pid %d is still there", pid), err)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	reaped, cancel := context.WithTimeout(in.x.ctx, reapPatience)
	defer cancel()
	e, err := in.x.world.Exited(reaped, pid)
	if err != nil {
		return "is gone, reaped by its parent", nil
	}
	if e.Code() != 128+uint32(unix.SIGKILL) {
		return "", fmt.Errorf("%w %d", errOvertaken, e.Code())
	}
	return fmt.Sprintf("was reaped with %d", e.Code()), nil
}
