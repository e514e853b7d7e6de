package judge

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// A containerd with pid 9 is looked at twice; its shim has served a container since.
func TestRulesOfStandings(t *testing.T) {
	stand := func(shim, init inventory.Standing) func(*harness.History) {
		return func(h *harness.History) {
			shim.PID, shim.Shim, init.PID = 42, "c0", 41
			look := inventory.Standings{At: at(25), Containerd: inventory.Standing{PID: 9, Group: 9, OOMScoreAdj: -7},
				Shims: []inventory.Standing{shim}, Behind: []inventory.Standing{init, {PID: 43, OOMScoreAdj: 5}}}
			h.Standings, h.Instances[0].OOMScoreAdj = []inventory.Standings{look, look}, new(int)
		}
	}
	asked := func(adj *int) func(*harness.History) {
		return func(h *harness.History) { h.Instances[0].OOMScoreAdj = adj }
	}
	is := func(group, shim, init int) func(*harness.History) {
		return stand(inventory.Standing{Group: group, OOMScoreAdj: shim}, inventory.Standing{Group: 41, OOMScoreAdj: init})
	}
	const score = "liveness shim what=shim-oom-score"
	fake := func(h *harness.History) { h.Case.Workload.Fakeshim = "plain" }
	gone := func(h *harness.History) { h.Standings[0].Behind[0].PID = 44 } // of both looks
	less := -8
	judged(t, map[string]row{
		"as it should be":                      {also(plain, is(42, -6, 0)), ""},
		"in containerd's group":                {also(plain, is(9, -6, 0)), "liveness shim what=shim-group reported=9"},
		"in containerd's group, after a fault": {is(9, -6, 0), "liveness shim what=shim-group"},
		"in that of the one before": {also(plain, is(9, -6, 0), func(h *harness.History) {
			h.Standings[0].Shims, h.Standings[1].Containerd.Group = nil, 10
		}), "liveness shim what=shim-group"},
		"as containerd itself":                {also(plain, is(42, -7, 0)), score + " reported=-7 true=-6"},
		"as containerd itself, after a fault": {is(42, -7, 0), ""},
		"of another program":                  {also(plain, is(42, -7, 0), fake), ""},
		"there is no more": {also(plain, is(42, 1000, 0), func(h *harness.History) {
			h.Standings[0].Containerd.OOMScoreAdj, h.Standings[1].Containerd.OOMScoreAdj = 1000, 1000
			h.Instances[0].OOMScoreAdj = nil
		}), ""},
		"an init like its shim": {also(plain, is(42, -6, -6)), "liveness container what=oom-score reported=-6 true=0"},
		"that after a fault":    {is(42, -6, -6), ""},
		"nobody has asked":      {also(plain, is(42, -6, -6), asked(nil)), ""},
		"less than containerd":  {also(plain, is(42, -6, -6), asked(&less)), ""},
		"it is not there":       {also(plain, is(42, -6, -6), gone), ""},
	})
}
