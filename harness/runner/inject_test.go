package runner

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

func parsed(t *testing.T, text string) term.Term {
	t.Helper()
	return must.Get(term.Parse(text))(t)
}

// A fault or a step that did not happen makes the verdict invalid, even if its point has
// hits.
func TestHalfAFaultIsInvalid(t *testing.T) {
	for _, tc := range []struct {
		name, says string
		fault      failpoints.Fault
	}{
		{"a step fails: there is no task yet", "kill task", failpoints.PauseAt("rpc:shim:Task.Create:entry",
			failpoints.Steps("kill task", "release")...)},
		{"there is no second hit", "1*crash", failpoints.Fault{At: failpoints.MustPoint("rpc:shim:Task.Start:exit"),
			Do: parsed(t, "1*delay(1)->1*crash")}},
		{"there is no third hit", "executed too few times: 1", failpoints.Fault{
			At: failpoints.MustPoint("rpc:shim:Task.Start:exit"), Do: parsed(t, "2*off->1*crash")}},
	} {
		v := runCase(t, harness.Case{Name: "half-a-fault", Plan: failpoints.Plan{tc.fault}})
		must.Equal(t, v.Outcome, harness.Invalid, tc.name)
		must.Contain(t, v.ProblemsText(), tc.says, tc.name)
	}
}
