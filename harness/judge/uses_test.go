package judge

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
)

// A logger gets the id of its container. So the logger of a second use gets the same id
// as the first one.
func TestLoggersOfTwoUses(t *testing.T) {
	logged := func(name string) harness.Instance {
		return harness.Instance{Name: name, ID: "c0", Outputs: &harness.Outputs{LoggedAs: "shimquake/c0"},
			Execs: []harness.Exec{{ID: "e0", Name: "e0-2", Outputs: &harness.Outputs{LoggedAs: "shimquake/e0"}}}}
	}
	h := &harness.History{Case: harness.Case{Workload: harness.Workload{Script: []string{"create c0"}}},
		Instances: []harness.Instance{logged("c0"), logged("c0-2")}}
	for _, i := range usesApart(h).Instances {
		for _, p := range []process{{runOf(h), i, nil}, {runOf(h), i, &i.Execs[0]}} {
			out := i.Outputs
			if p.e != nil {
				out = p.e.Outputs
			}
			if found := p.wrongLog(*out, i.Deleted); len(found) > 0 {
				t.Errorf("%s: %v", i.Name, found)
			}
		}
	}
}
