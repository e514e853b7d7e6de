package runner

import (
	"fmt"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/harness"
)

// readContainerdLog records the messages of containerd's log that the judge needs. A
// log that has reached its size limit is a problem, because a fatal message may be
// missing.
func (x *run) readContainerdLog() error {
	text, _, err := x.world.Logs().Tail(daemon.LogName, world.LogSize)
	if err != nil {
		return fmt.Errorf("read containerd's log: %w", err)
	}
	logged, complete := harness.LoggedIn(text)
	x.record.Set(func(h *harness.History) { h.Logged = logged })
	if len(text) >= world.LogSize || !complete {
		x.record.Problem(harness.ByLook, fmt.Errorf("containerd's log has reached its limit (%d MiB, or too many different"+
			" messages): its later lines are lost", world.LogSize>>20))
	}
	return nil
}
