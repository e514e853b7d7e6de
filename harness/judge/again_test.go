package judge

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
)

func TestRulesOfAgain(t *testing.T) {
	asks := func(verb, exec string, err *callerr.Failed) func(*harness.History) {
		return func(h *harness.History) {
			h.Again = append(h.Again, harness.Again{Verb: verb, Of: "c0", Exec: exec, At: at(21), Err: err})
		}
	}
	refused := failed("Unknown", "cannot start a running process")
	judged(t, map[string]row{
		"a second create is refused": {asks("create", "", refused), ""},
		"an exec is refused":         {asks("start", "e0", refused), ""},
		"which the shim has said, too": {also(asks("start", "e0", refused), func(h *harness.History) {
			h.Hits = append(h.Hits, hit("rpc:shim:Task.Start:exit", 22, func(h *failpoints.Hit) {
				h.Who, h.ID, h.ExecID, h.Err = "shim", "c0", "e0", refused.Text
			}))
			h.Flushed.Hits++
		}), ""},
		"a task is created twice": {asks("create", "", nil), "liveness container what=done-twice call=create"},
		"an exec is started anew": {also(asks("create", "", refused), asks("start", "e0", nil)),
			"liveness container what=done-twice"},
	})
}
