package judge

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
)

// The shim of the clean history has pid 42, and a fault was done to it.
func TestRulesOfShimEnds(t *testing.T) {
	ends := func(code uint32) func(*harness.History) {
		return func(h *harness.History) { h.Exits = append(h.Exits, harness.Exit{PID: 42, Code: code, At: at(45)}) }
	}
	ignored := func(h *harness.History) { h.IgnoredSIGTERM = []harness.IgnoredSIGTERM{{PID: 42}} }
	misbehaves := func(h *harness.History) { h.Case.Workload.Fakeshim = "shutdown-hangs" }
	inDaemon := func(h *harness.History) {
		h.Hits[2].Who, h.Case.Plan[0].At.Who = "containerd", "containerd"
	}
	ofNobody := func(h *harness.History) { h.Case.Plan[0].At.Who = "" }
	const found = "liveness shim what=shim-ended exit=141"
	judged(t, map[string]row{
		"with 0":                  {also(plain, ends(0)), ""},
		"by SIGPIPE":              {also(plain, ends(141)), found},
		"after a fault in a shim": {ends(2), ""},
		"after one in containerd": {also(inDaemon, ends(141)), found},
		"with 1 without a fault":  {also(plain, ends(1)), "liveness shim what=shim-ended exit=1"},
		"with 1 after one":        {also(inDaemon, ends(1)), ""}, // it could not publish all
		"slowed by the kernel":    {also(inDaemon, ends(141), ofNobody), ""},
		"killed":                  {also(plain, ends(137), func(h *harness.History) { kill(h, "shim", 42) }), ""},
		"by a panic, where a call has failed": {also(plain, ends(2), func(h *harness.History) {
			h.Calls, h.Reference = failedCalls("create"), &harness.Reference{Outcome: harness.Invalid}
		}), "liveness shim what=shim-ended exit=2"},
		"what is no shim":           {also(plain, ends(2), func(h *harness.History) { h.Exits[1].PID = 77 }), ""},
		"asked to end, and did not": {also(plain, ends(137), ignored), "liveness shim what=shutdown"},
		"one that misbehaves":       {also(plain, ends(2), misbehaves), ""},
	})
}
