package judge

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
)

func TestRulesOfMeters(t *testing.T) {
	told := func(m harness.Meter) func(*harness.History) {
		return also(plain, func(h *harness.History) { h.Instances[0].Meters = []harness.Meter{m} })
	}
	const wrong, page = "liveness container what=meter-as", "liveness container what=meter-page-as"
	judged(t, map[string]row{
		"its own":             {told(harness.Meter{Limit: 32, Told: []uint64{32}, Others: 1}), ""},
		"another's":           {told(harness.Meter{Limit: 32, Told: []uint64{48}}), wrong},
		"nothing":             {told(harness.Meter{Limit: 32, Others: 1}), wrong},
		"twice":               {told(harness.Meter{Limit: 32, Told: []uint64{32, 32}}), wrong},
		"others, unasked for": {told(harness.Meter{Filter: "id==c0", Limit: 32, Told: []uint64{32}, Others: 1}), wrong},
		"an error":            {told(harness.Meter{Limit: 32, Err: &callerr.Failed{Code: "Unknown", Text: "no"}}), wrong},
		"on the page":         {told(harness.Meter{Page: true, Limit: 32, Told: []uint64{32}, Others: 1}), ""},
		"not on the page":     {told(harness.Meter{Page: true, Limit: 32, Others: 1}), page},
		"not on the page, used again": {also(plain, func(h *harness.History) {
			h.Reuse = &harness.Reuse{Use: harness.Use{ID: "c0", Meters: []harness.Meter{{Page: true, Limit: 32}}}}
		}), page},
		"where a fault is planned": {func(h *harness.History) {
			h.Instances[0].Meters = []harness.Meter{{Limit: 32}}
		}, ""},
	})
}
