package inject

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/must"
)

func TestContextObserved(t *testing.T) {
	hit := func(point, id, err string) failpoints.Hit {
		return failpoints.Hit{Hit: probe.Hit{Point: point, ID: id, Err: err}, Who: "shim", PID: 41, Did: term.Cancel}
	}
	const entry, exit = "rpc:shim:Task.Shutdown:entry", "rpc:shim:Task.Shutdown:exit"
	for _, c := range []struct {
		name  string
		at    failpoints.Hit
		later []failpoints.Hit
		want  bool
	}{
		{"the handler failed", hit(entry, "c0", ""), []failpoints.Hit{hit(exit, "c0", "context canceled")}, true},
		{"the handler went on", hit(entry, "c0", ""), []failpoints.Hit{hit(exit, "c0", "")}, false},
		{"another container's call failed", hit(entry, "c0", ""),
			[]failpoints.Hit{hit(exit, "c1", "context canceled"), hit(exit, "c0", "")}, false},
		{"the call never returned", hit(entry, "c0", ""), nil, true},
		{"at the exit the probe returns the error", hit(exit, "c0", ""), nil, true},
	} {
		must.Equal(t, contextObserved(c.at, c.later), c.want, c.name, "observed is")
	}
}

func TestFirstHit(t *testing.T) {
	for text, want := range map[string]int{"1*crash": 1, "6*off->1*crash": 7, "hang": 1, "2*off->1*delay(5)": 3} {
		do := must.Get(term.Parse(text))(t)
		must.Equal(t, firstHit(do), want, text)
	}
}

func TestLeastHits(t *testing.T) {
	for text, want := range map[string]int{
		"1*crash": 1, "2*off->1*crash": 1, "error(no)": 1, "3*error(no)": 1, // a client may give up before the third
		"1*error(no)->1*crash": 2, "2*error(no)->1*off->hang": 3, "1*delay(5)->off": 1,
	} {
		do := must.Get(term.Parse(text))(t)
		must.Equal(t, leastHits(do), want, text)
	}
}

// Every kind of points that a plan can name has a kind of fault.
func TestEveryKindOfPointHasAFault(t *testing.T) {
	for _, p := range failpoints.Points() {
		if kinds[p.Kind].make == nil {
			t.Errorf("%s: no fault is registered for %s", p, p.Kind)
		}
	}
	if kinds[failpoints.Stmt].make == nil {
		t.Error("no fault is registered for statements")
	}
}
