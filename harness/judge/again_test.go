package judge

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

func TestRulesOfAgain(t *testing.T) {
	asks := func(exec string, err *oracle.Failed) func(*harness.History) {
		return func(h *harness.History) {
			h.Again = append(h.Again, harness.Again{Verb: "start", Of: "c0", Exec: exec, At: at(21), Err: err})
		}
	}
	refused := failed("Unknown", "cannot start a running process")
	judged(t, map[string]row{
		"a task is refused":  {asks("", refused), ""},
		"an exec is refused": {asks("e0", refused), ""},
		"which the shim has said, too": {also(asks("", refused), func(h *harness.History) {
			h.Hits = append(h.Hits, hit("rpc:shim:Task.Start:exit", 22, func(h *failpoints.Hit) {
				h.Who, h.ID, h.Err = "shim", "c0", refused.Text
			}))
			h.Flushed.Hits++
		}), ""},
		"a task is started anew": {asks("", nil), "liveness container what=done-twice call=start"},
		"an exec is started anew": {also(asks("", refused), asks("e0", nil)),
			"liveness container what=done-twice"},
	})
}
