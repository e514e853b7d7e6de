package scripts

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
)

// Every long script can be run, and has a `mark` step.
func TestLong(t *testing.T) {
	long := Long("shim")
	concurrent, steps := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c := harness.Case{Name: "long", Workload: long.Draw(t, "workload")}
		all, err := c.Workload.Steps()
		if err != nil || c.Check() != nil {
			t.Fatalf("%v, %v\n%s", err, c.Check(), c)
		}
		marks := 0
		for _, s := range all {
			steps++
			if s.Concurrent {
				concurrent++
			}
			if s.Verb == script.Mark {
				marks++
			}
		}
		if marks != 1 || len(all) > 3*longest+3 {
			t.Fatalf("%d marks, %d steps:\n%s", marks, len(all), c)
		}
	})
	if concurrent == 0 || concurrent > steps/2 {
		t.Errorf("%d of %d steps are concurrent", concurrent, steps)
	}
}
