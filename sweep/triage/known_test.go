package triage

import (
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// A known finding of either of its faults explains a pair.
func TestAPairIsKnownByEitherFault(t *testing.T) {
	pass := func(point, path string) plan.Hit {
		return plan.Hit{Point: failpoints.MustPoint(point), Nth: 1, Path: path}
	}
	forks, loads := pass(start+"fork", "create"), pass("stmt:containerd:runtime.loadShim:load", "load")
	s := plan.Single(forks, "crash", "task").Then(loads, "crash")
	for where, want := range map[string]bool{
		"containerd runtime.binary.*": true, "containerd runtime.loadShim": true, "shim *": false,
	} {
		must.Equal(t, AppliesTo(catalogue.Excuse{Window: catalogue.Window{Where: []string{where}}}, s), want, where)
	}
	for after, want := range map[string]bool{"crash": true, "kill": false} {
		w := catalogue.Window{Where: []string{"containerd runtime.loadShim"}, After: []string{after}}
		k := catalogue.Excuse{Window: w}
		if AppliesTo(k, s) != want || AppliesTo(k, plan.Single(loads, "crash", "task")) {
			t.Errorf("after %s: want %v, and nothing for a fault alone", after, want)
		}
	}
	whileLoading := catalogue.Excuse{Window: catalogue.Window{
		Where: []string{"containerd runtime.binary.*"}, Paths: []string{"load"}}}
	if AppliesTo(whileLoading, plan.Single(forks, "error(x)", "task").Then(loads, "error(x)")) {
		t.Error("place and path must be of one fault")
	}
	if !AppliesTo(whileLoading, plan.Single(forks, "error(x)", "task").Then(loads, "crash")) {
		t.Error("a fault beside a crash may come while containerd loads")
	}
}

// A finding known for a bare error is unknown for an error that its caller may take for
// success.
func TestATypedErrorIsKnownByItsName(t *testing.T) {
	at := plan.Hit{Point: failpoints.MustPoint(start + "a"), Nth: 1, Path: "create"}
	for action, known := range map[string]string{
		"error(x)": "error", "error(NotFound)": "code error(NotFound)", "error(Unavailable)": "code",
		"error(ENOSPC)": "errno", "crash": "crash",
	} {
		for _, listed := range []string{"error", "code", "errno", "error(NotFound)", "crash"} {
			k := catalogue.Excuse{Window: catalogue.Window{Actions: []string{listed}}}
			want := slices.Contains(strings.Fields(known), listed)
			if AppliesTo(k, plan.Single(at, action, "task")) != want {
				t.Errorf("a finding of %s, and %s: known %v", listed, action, !want)
			}
		}
	}
}

// Windows do not mix: a finding known at one place with one action is unknown there with
// the action of another window.
func TestAWindowIsOfItsOwnActions(t *testing.T) {
	k := catalogue.Excuse{
		Window: catalogue.Window{Where: []string{start + "a"}, Actions: []string{"crash"}},
		Also: []catalogue.Window{{Where: []string{start + "b"}, Actions: []string{"pause"}, Paths: []string{"create"},
			Workloads: []string{"task"}}},
	}
	for _, tt := range []struct {
		label, action, path, workload string
		known                         bool
	}{
		{"a", "crash", "create", "task", true},
		{"a", "crash", "start", "cri", true},
		{"a", "pause", "create", "task", false},
		{"b", "pause", "create", "task", true},
		{"b", "crash", "create", "task", false},
		{"b", "pause", "start", "task", false},
		{"b", "pause", "create", "cri", false},
	} {
		at := plan.Hit{Point: failpoints.MustPoint(start + tt.label), Nth: 1, Path: tt.path}
		must.Equal(t, AppliesTo(k, plan.Single(at, tt.action, tt.workload)), tt.known, tt)
	}
}

// A window's own matches belong to it alone.
func TestAWindowMatchesItsOwn(t *testing.T) {
	shim := finding.Finding{Invariant: finding.Leak, Class: finding.ClassShim}
	socket := finding.Finding{Invariant: finding.Leak, Class: finding.ClassSocket}
	k := catalogue.Excuse{
		Window: catalogue.Window{Where: []string{start + "a"}, Match: finding.MustMatches("shim")},
		Also: []catalogue.Window{{Where: []string{start + "b"}, Match: finding.MustMatches("socket")},
			{Where: []string{start + "c"}}},
	}
	for label, want := range map[string][]finding.Finding{"a": {shim}, "b": {socket}, "c": {shim}, "d": nil} {
		at := plan.Hit{Point: failpoints.MustPoint(start + label), Nth: 1, Path: "create"}
		got := explainer{[]catalogue.Excuse{k}, []string{""}}.explains(
			journal.Result{Found: []finding.Finding{shim, socket}}, plan.Single(at, "crash", "task"), nil, false)
		if len(got[0]) != len(want) || len(want) > 0 && got[0][0].Class != want[0].Class {
			t.Errorf("at %s: %v, want %v", label, got[0], want)
		}
	}
}

// A finding known in CRI's workload is known in workloads with the same calls.
func TestAFindingIsKnownInWorkloadsThatAreLikeItsOwn(t *testing.T) {
	at := plan.Hit{Point: failpoints.MustPoint(start + "fork"), Nth: 1, Path: "exit"}
	for name, want := range map[string]bool{"cri": true, "stop": true, "loop": true, "task": false, "grouped": false} {
		s := plan.Single(at, "crash", name)
		k := catalogue.Excuse{Window: catalogue.Window{Workloads: []string{"cri"}, Where: []string{"containerd *"}}}
		must.Equal(t, AppliesTo(k, s), want, name, !want)
	}
}

// If several known findings match, the most specific one explains it.
func TestTheMostSpecificFindingExplains(t *testing.T) {
	at := plan.Hit{Point: failpoints.MustPoint(start + "a"), Nth: 1, Path: "create"}
	s := plan.Single(at, "crash", "task")
	unreported := finding.Finding{Invariant: finding.Exit, Class: finding.ClassExitCode, Facts: fact.Facts{
		fact.By: "nobody", fact.Status: fact.Unreported, fact.Containerd: fact.Down,
	}}
	dead := unreported
	dead.Facts = unreported.Facts.With(fact.Facts{fact.Shim: fact.Dead})
	const down = "exit-code by=nobody status=unreported containerd=down"
	less := catalogue.Excuse{ID: "less", Window: catalogue.Window{Match: finding.MustMatches(down)}}
	more := catalogue.Excuse{ID: "more", Window: catalogue.Window{Match: finding.MustMatches(down + " shim=dead")}}
	same := catalogue.Excuse{ID: "same", Window: catalogue.Window{Match: less.Match}}
	elsewhere := more
	elsewhere.Where = []string{"shim *"}
	for name, tc := range map[string]struct {
		known []catalogue.Excuse
		found finding.Finding
		want  int
	}{
		"the one that says more":        {[]catalogue.Excuse{less, more}, dead, 1},
		"only one matches":              {[]catalogue.Excuse{less, more}, unreported, 0},
		"the first of two alike":        {[]catalogue.Excuse{less, same}, dead, 0},
		"one that may not be here":      {[]catalogue.Excuse{less, elsewhere}, dead, 0},
		"none but one of another place": {[]catalogue.Excuse{elsewhere}, dead, -1},
	} {
		got := -1
		of := explainer{tc.known, make([]string, len(tc.known))}
		for i := range of.explains(journal.Result{Found: []finding.Finding{tc.found}}, s, nil, false) {
			got = i
		}
		must.Equal(t, got, tc.want, name)
	}
}

// A finding known on a path is known for a fault that fired on it. On a busy machine the
// hit may be on another path than in the traces.
func TestAFindingIsKnownWhereItsFaultFired(t *testing.T) {
	k := known(t, "  where:", "  paths: [start]\n  where:")
	p := planOf(start+"a", start+"b") // both on create
	for name, c := range map[string]struct {
		paths []string
		fresh int
	}{
		"as planned":          {nil, 1},
		"nobody knows":        {[]string{""}, 1},
		"in the window":       {[]string{"start"}, 0},
		"on a third":          {[]string{"delete"}, 1},
		"of one fault of two": {[]string{"", "start"}, 1},
	} {
		r := NewReport(headOf(p), []journal.Result{
			{I: 1, Outcome: harness.Violated, Paths: c.paths, Found: shimLeft(1, "c0")},
		}, []catalogue.Excuse{k})
		must.Equal(t, r.NeedAttention(), c.fresh, name, "new", r)
	}
	must.Equal(t, p.Specs[1].Last().Path, "create", "the report has changed the plan")
	planned := known(t, "  where:", "  paths: [create]\n  where:")
	r := NewReport(headOf(p), []journal.Result{
		{I: 1, Outcome: harness.Violated, Paths: []string{"start"}, Found: shimLeft(1, "c0")},
	}, []catalogue.Excuse{planned})
	must.Equal(t, r.NeedAttention(), 0, "what was planned in the window is new, because it fired a moment later", r)
}
