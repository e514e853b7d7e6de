package judge

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

func TestWhatIsStartedAgain(t *testing.T) {
	again := func(exec string, err *oracle.Failed) func(*harness.History) {
		return func(h *harness.History) {
			h.StartedAgain = append(h.StartedAgain, harness.StartedAgain{Of: "c0", Exec: exec, At: at(21), Err: err})
		}
	}
	refused := failed("Unknown", "cannot start a running process")
	judged(t, map[string]row{
		"a task is refused":  {again("", refused), ""},
		"an exec is refused": {again("e0", refused), ""},
		"which the shim has said, too": {also(again("", refused), func(h *harness.History) {
			h.Hits = append(h.Hits, hit("rpc:shim:Task.Start:exit", 22, func(h *failpoints.Hit) {
				h.Who, h.ID, h.Err = "shim", "c0", refused.Text
			}))
			h.Flushed.Hits++
		}), ""},
		"a task is started anew": {again("", nil), "liveness container what=started-twice"},
		"an exec is started anew": {also(again("", refused), again("e0", nil)),
			"liveness container what=started-twice of=exec"},
	})
}
