package runner

import (
	"fmt"
	"io"
	"os"

	"github.com/shimquake/shimquake/harness"
)

// longestLog is how much of a log is read.
const longestLog = 64 << 20

// lookAtLog keeps what is to be judged of containerd's log.
func (x *run) lookAtLog() error {
	f, err := os.Open(x.daemon.Log())
	if err != nil {
		return fmt.Errorf("read containerd's log: %w", err)
	}
	defer f.Close() //nolint:errcheck // read-only
	text, err := io.ReadAll(io.LimitReader(f, longestLog))
	if err != nil {
		return fmt.Errorf("read containerd's log: %w", err)
	}
	logged := harness.LoggedIn(text)
	x.record.Set(func(h *harness.History) { h.Logged = logged })
	return nil
}
