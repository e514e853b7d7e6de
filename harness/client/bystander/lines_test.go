package bystander

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shimquake/shimquake/harness"
)

func TestReadLines(t *testing.T) {
	at := func(ns int64) time.Time { return time.Unix(0, ns) }
	for name, tc := range map[string]struct {
		text string
		want harness.Output
	}{
		"nothing": {"", harness.Output{}},
		"all":     {"1 t=5\n2 t=6\n", harness.Output{Last: 2, LastAt: at(6)}},
		"the first": {"2 t=6\n", harness.Output{
			Last: 2, LastAt: at(6), Holes: []harness.Hole{{From: 1, To: 1, Before: at(6)}}}},
		"some": {"1 t=5\n4 t=8\n", harness.Output{
			Last: 4, LastAt: at(8), Holes: []harness.Hole{{From: 2, To: 3, After: at(5), Before: at(8)}}}},
		"twice":         {"1 t=5\n2 t=6\n1 t=5\n", harness.Output{Last: 2, LastAt: at(6), Repeated: 1}},
		"cut off":       {"1 t=5\n2 t=", harness.Output{Last: 1, LastAt: at(5), Foreign: 1}},
		"half a number": {"1 t=5\n2 t=6", harness.Output{Last: 1, LastAt: at(5), Foreign: 1}},
		"a complaint":   {"payload: no\n1 t=5\n", harness.Output{Last: 1, LastAt: at(5), Foreign: 1}},
	} {
		if diff := cmp.Diff(tc.want, ReadLines(tc.text)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}
