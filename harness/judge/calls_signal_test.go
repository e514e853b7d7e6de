package judge

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
)

func TestStandIns(t *testing.T) {
	in := func(of string, hit bool) func(*harness.History) {
		return func(h *harness.History) { h.PIDReuses = []harness.PIDReuse{{Of: of, PID: 41, Killed: hit}} }
	}
	const hits = "liveness container what=kill-hits-another"
	judged(t, map[string]row{
		"it lives":                       {in("c0", false), ""},
		"it is killed":                   {in("c0", true), hits},
		"the pid of an exec, and killed": {in("c0/e0", true), hits + " of=exec"},
	})
}
