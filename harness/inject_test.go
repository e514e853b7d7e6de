package harness

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
)

func parsed(t *testing.T, text string) term.Term {
	t.Helper()
	do, err := term.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return do
}

func TestLeastHits(t *testing.T) {
	for text, want := range map[string]int{
		"1*crash": 1, "2*off->1*crash": 1, "error(no)": 1, "3*error(no)": 1, // a client may give up before the third
		"1*error(no)->1*crash": 2, "2*error(no)->1*off->hang": 3, "1*delay(5)->off": 1,
	} {
		if got := leastHits(parsed(t, text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// What of a plan was not done makes the verdict invalid, even when its point was passed.
func TestHalfAFaultIsInvalid(t *testing.T) {
	for _, tc := range []struct {
		name, says string
		fault      failpoints.Fault
	}{
		{"a step fails: there is no task yet", "kill task", failpoints.PauseAt("rpc:shim:Task.Create:entry", failpoints.Steps("kill task", "release")...)},
		{"there is no second hit", "1*crash", failpoints.Fault{At: failpoints.MustPoint("rpc:shim:Task.Start:exit"), Do: parsed(t, "1*delay(1)->1*crash")}},
	} {
		v := run(t, Case{Name: "half-a-fault", Plan: failpoints.Plan{tc.fault}})
		if v.Outcome != Invalid || !strings.Contains(v.Why, tc.says) {
			t.Errorf("%s: %v", tc.name, v)
		}
	}
}
