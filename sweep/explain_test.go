package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/fixes"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/triage"
)

var (
	errNotFired = errors.New("the fault does not fire")
	errStall    = errors.New("the machine stands still")
	errNoPoint  = errors.New("the containerd lacks the point")
)

// A finding is known if it is gone with the fix of a bug, and new if it is still there.
// It is also new if the base release of a changed containerd does not show it. A journal
// that is read back gives the same report.
func TestExplain(t *testing.T) {
	fix := fixes.List()[0].Name
	left := leakedShim() // the facts of shim-not-cleaned-at-load
	left[0].Facts = fact.Facts{fact.Task: fact.None, fact.Bundle: fact.Gone}
	for name, tt := range map[string]struct {
		subject string
		shows   func(containerd string, run int) bool
		refuse  error
		want    string
	}{
		"gone with the fix": {"v2.4.2", func(on string, _ int) bool { return !strings.Contains(on, fix) }, nil,
			"0 new, 1 known by a fix, gone in 1"},
		"still there with the fix": {"v2.4.2", func(string, int) bool { return true }, nil,
			"1 new, 0 known by a fix, gone in 0"},
		"the fault fires only without the fix": {"v2.4.2", func(on string, _ int) bool { return on == "v2.4.2" },
			errNotFired, "0 new, 1 known by a fix, gone in 0"},
		"the first fix removes the point, and another one closes it": {"v2.4.2",
			func(on string, _ int) bool { return on == "v2.4.2" }, errNoPoint, "0 new, 1 known by a fix, gone in 1"},
		"the machine stands still in each run with the fix": {"v2.4.2",
			func(on string, _ int) bool { return on == "v2.4.2" }, errStall, "1 new, 0 known by a fix, gone in 0"},
		"gone with all fixes": {"v2.4.2", func(on string, _ int) bool { return !strings.Contains(on, fixes.All) }, nil,
			"0 new, 1 known by a fix, gone in 1"},
		"seen once, and no more": {"v2.4.2", func(on string, run int) bool { return on == "v2.4.2" && run == 1 }, nil,
			"0 new, 1 known by a fix, gone in 0"},
		"the fix does not apply": {"v2.4.2", func(string, int) bool { return true },
			&containerd.PatchError{Patch: fix, Place: "x.go, hunk 1", Err: errors.New("no such lines")},
			"1 new, 0 known by a fix, gone in 0"},
		"only with a patch": {"v2.4.2+mine.patch", func(on string, _ int) bool { return strings.Contains(on, "mine") }, nil,
			"1 new, 0 known by a fix, gone in 0"},
		"with a patch and without": {"v2.4.2+mine.patch", func(on string, _ int) bool {
			return !strings.Contains(on, fix)
		}, nil, "0 new, 1 known by a fix, gone in 1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, j, h := begun(t, 1, whole)
			h.Plan.Containerd = tt.subject
			runs := map[string]int{}
			e := engine.New(&fake{verdict: func(c harness.Case, _ int) harness.Verdict {
				if runs[c.Containerd]++; tt.shows(c.Containerd, runs[c.Containerd]) {
					return harness.Verdict{Outcome: harness.Violated, Findings: left}
				}
				kind := map[error]harness.ProblemKind{errNotFired: harness.ByMiss, errStall: harness.ByStall,
					errNoPoint: harness.ByInput}[tt.refuse]
				if lacks := !errors.Is(tt.refuse, errNoPoint) || strings.Contains(c.Containerd, fix); kind != "" && lacks &&
					c.Containerd != tt.subject {
					return harness.Verdict{Outcome: harness.Invalid, Problems: []harness.Problem{{Kind: kind}}}
				}
				return harness.Verdict{Outcome: harness.Held}
			}}, 1)
			s := Schedule{Engine: e, Head: h, Journal: j}
			results := must.Get(s.Run(t.Context()))(t)
			all := must.Get(s.Explain(t.Context(), catalogue.Excuses(), results, func(_ context.Context, on string) error {
				if patch := (*containerd.PatchError)(nil); strings.Contains(on, fix) && errors.As(tt.refuse, &patch) {
					return patch
				}
				return nil
			}))(t)
			_, read, err := journal.Read(dir)
			if err != nil || len(read) != len(all) {
				t.Fatalf("%d results, %d in the journal: %v", len(all), len(read), err)
			}
			for _, results := range [][]journal.Result{all, read} {
				r := triage.NewReport(h, results, catalogue.Excuses(), Causes(h, results)...)
				known, gone := 0, 0
				for _, k := range r.Known {
					known, gone = known+1, gone+k.Closed
				}
				must.Equal(t, fmt.Sprintf("%d new, %d known by a fix, gone in %d", len(r.New), known, gone), tt.want, r)
			}
		})
	}
}

// A finding that another sweep shows, too, is known.
func TestBaseline(t *testing.T) {
	_, _, h := begun(t, 3, whole)
	results := []journal.Result{{I: 0, Outcome: harness.Violated, Found: leakedShim()}}
	other := slices.Clone(results)
	other[0].I = 2 // another point of the function
	for name, tt := range map[string]struct {
		other []journal.Result
		fresh int
	}{
		"held there": {nil, 1}, "shown there": {results, 0}, "shown at another point": {other, 0},
	} {
		r := triage.NewReport(h, results, catalogue.Excuses(),
			triage.Baseline("there", h.Plan, results, h.Plan, tt.other)...)
		must.Len(t, r.New, tt.fresh, name)
		must.Len(t, r.Known, 1-tt.fresh, name)
	}
}
