package runner

import (
	"fmt"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/harness"
)

// lookAtLog keeps what is to be judged of containerd's log. A log that has lost lines is
// a problem: it may have lost a fatal one.
func (x *run) lookAtLog() error {
	text, _, err := x.world.Logs().Tail(daemon.LogName, world.LogSize)
	if err != nil {
		return fmt.Errorf("read containerd's log: %w", err)
	}
	logged, complete := harness.LoggedIn(text)
	x.record.Set(func(h *harness.History) { h.Logged = logged })
	if len(text) >= world.LogSize || !complete {
		x.record.Problem(harness.ByLook, fmt.Errorf("containerd's log has reached its limit (%d MiB, or too many different"+
			" messages): its later lines are not known", world.LogSize>>20))
	}
	return nil
}
