package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
)

func TestRulesOfRuncRoots(t *testing.T) {
	with := func(kept, left bool) func(*harness.History) {
		return func(h *harness.History) { h.Instances[0].Runc = &harness.RuncRoot{Kept: kept, Left: left} }
	}
	judged(t, map[string]row{
		"as it was asked": {also(plain, with(true, false)), ""},
		"elsewhere":       {also(plain, with(false, false)), "liveness container what=runc-elsewhere"},
		"left":            {also(plain, with(true, true)), "liveness container what=runc-left"},
		"after a fault":   {with(false, true), ""},
		"of one that was never deleted": {also(plain, with(true, true), func(h *harness.History) {
			h.Instances[0].Deleted = time.Time{}
		}), ""},
	})
}
