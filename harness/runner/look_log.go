package runner

import (
	"fmt"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
)

// mostLog is how much of the end of a log is read, in bytes.
const mostLog = 64 << 20

// lookAtLog keeps what is to be judged of containerd's log.
func (x *run) lookAtLog() error {
	text, _, err := x.world.Files().Tail(daemon.LogName, mostLog)
	if err != nil {
		return fmt.Errorf("read containerd's log: %w", err)
	}
	logged := harness.LoggedIn(text)
	x.record.Set(func(h *harness.History) { h.Logged = logged })
	return nil
}
