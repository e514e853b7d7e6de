package inject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/shimquake/shimquake/failpoints/slowsys"
	"github.com/shimquake/shimquake/harness"
)

// slowCall delays each use of a system call in the shims with strace. An example is
// sys:shim:umount2:exited delay(12000).
type slowCall struct {
	in       *Injector
	i        int
	attached map[int]*slowsys.Injection // by the shim's pid
}

func newSlowCall(in *Injector, i int) Fault {
	return &slowCall{in: in, i: i, attached: map[int]*slowsys.Injection{}}
}

// Begin attaches strace to the shims of the world.
func (s *slowCall) Begin(ctx context.Context) error {
	f := s.in.plan[s.i]
	ids, err := s.in.shims()
	if err != nil {
		return err
	}
	for _, id := range ids {
		pid, err := s.in.World.HostPID(id)
		if err != nil {
			return err
		}
		s.attached[id.PID], err = slowsys.Attach(ctx, slowsys.Params{
			PID: pid, Syscall: f.At.What, Delay: f.Do.At(1).Delay(),
			Log: func() (io.WriteCloser, error) {
				return s.in.World.Files().OpenFile(fmt.Sprintf("strace-%d.log", id.PID), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
			},
		})
		if err != nil {
			delete(s.attached, id.PID)
			return err
		}
		// strace takes a pid, which may have become another process's before it attached.
		if _, err := s.in.World.HostPID(id); err != nil {
			return err
		}
		s.in.inForce(s.i)
	}
	return nil
}

// Proof returns how many calls strace delayed. It returns an error if strace may have
// missed calls.
func (s *slowCall) Proof(context.Context) (harness.Firing, error) {
	var errs []error
	for pid, a := range s.attached {
		if err := a.Err(); err != nil {
			errs = append(errs, fmt.Errorf("%s: the shim with pid %d in its world: %w", s.in.plan[s.i], pid, err))
			continue
		}
		if n, longest := a.Fired(); n > 0 {
			s.in.fired(s.i, "%d calls of %s were delayed in the shim with pid %d in its world, the longest took %s (strace)",
				n, s.in.plan[s.i].At.What, pid, longest.Round(time.Millisecond))
		}
	}
	return s.in.seen(s.i), errors.Join(errs...)
}

// detachTimeout is how long strace may take to detach from a process.
const detachTimeout = 5 * time.Second

// Undo detaches strace.
func (s *slowCall) Undo() error {
	var errs []error
	for _, a := range s.attached {
		ctx, cancel := context.WithTimeout(context.Background(), detachTimeout)
		errs = append(errs, a.Detach(ctx))
		cancel()
	}
	return errors.Join(errs...)
}
