package judge

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

func TestRulesOfMeters(t *testing.T) {
	told := func(m harness.Meter) func(*harness.History) {
		return also(plain, func(h *harness.History) { h.Instances[0].Meters = []harness.Meter{m} })
	}
	const wrong = "liveness container what=meter-as"
	judged(t, map[string]row{
		"its own":             {told(harness.Meter{Limit: 32, Told: []uint64{32}, Others: 1}), ""},
		"another's":           {told(harness.Meter{Limit: 32, Told: []uint64{48}}), wrong},
		"nothing":             {told(harness.Meter{Limit: 32, Others: 1}), wrong},
		"twice":               {told(harness.Meter{Limit: 32, Told: []uint64{32, 32}}), wrong},
		"others, unasked for": {told(harness.Meter{Filter: "id==c0", Limit: 32, Told: []uint64{32}, Others: 1}), wrong},
		"an error":            {told(harness.Meter{Limit: 32, Err: &oracle.Failed{Code: "Unknown", Text: "no"}}), wrong},
		"where a fault is planned": {func(h *harness.History) {
			h.Instances[0].Meters = []harness.Meter{{Limit: 32}}
		}, ""},
	})
}
