// Package compare runs the cases of a plan on two containerds, A and B, and says what B
// closes and what it opens.
//
// A violated verdict is a proof, and a held one is not. So a finding is the same as soon
// as the other side shows it, too. It is closed, or opened, when the held runs of the
// other side would be too improbable if it had the same rate.
package compare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// Kind is the result for a row.
type Kind string

// The kinds, in the order of the report.
const (
	Opened  Kind = "opened"
	Closed  Kind = "closed"
	Changed Kind = "changed" // B closes it, and opens something else in the same cases
	Same    Kind = "same"
	Unsure  Kind = "not sure"
)

// Kinds has all kinds, in the order of the report.
var Kinds = []Kind{Opened, Closed, Changed, Same, Unsure}

// Row is a cluster of findings: those with one cause, after the same effect of the
// faults, at points of one function.
type Row struct {
	Kind Kind               `json:"kind"`
	Left []triage.Signature `json:"left"`
	// When is the effect of the faults, and Place the process and the function.
	When  string `json:"when"`
	Place string `json:"place"`
	// On is the side that shows it first: A, or B if B may open it.
	On string `json:"on"`
	// OnlyB is set if A does not have the points.
	OnlyB bool   `json:"onlyB,omitempty"`
	Cases []Case `json:"cases"`
	// Chance is the probability of the held runs of the other side, if it had the same
	// rates. Needed is the number of further held runs of a row that is not sure.
	Chance float64 `json:"chance,omitempty"`
	Needed int     `json:"needed,omitempty"`
}

// Case is a case of a row, and how many runs on each side show the row's findings.
type Case struct {
	Spec int   `json:"case"` // index in the plan
	A    Count `json:"a"`
	B    Count `json:"b"`
}

// Comparison compares the runs of a plan's cases on two containerds.
type Comparison struct {
	Engine *engine.Engine
	// Plan has A's cases, and after the first Shared ones those at points that only B has.
	Plan   plan.Plan
	Shared int
	A, B   string // the containerds
	// Alpha is the probability of one false result among all rows.
	Alpha float64
	// Most is the number of further runs on each side after which a row is not sure.
	Most int
}

// side is one side's results, by the index of the case.
type side map[int]journal.Result

func sideOf(results []journal.Result) side {
	s := side{}
	for _, r := range journal.Own(results) {
		s[r.I] = r
	}
	return s
}

// Rows compares the results of both sides, and runs the cases of rows that differ until
// each is decided. The results of a case without a result on one side are not compared.
func (c Comparison) Rows(ctx context.Context, a, b []journal.Result) ([]Row, error) {
	rows := c.group(sideOf(a), sideOf(b))
	var open []*Row
	for i := range rows {
		if rows[i].Kind == "" {
			open = append(open, &rows[i])
		}
	}
	w := progress.Begin(ctx, "further runs of rows that differ", len(open), "rows")
	defer w.End()
	alpha := c.Alpha / float64(max(len(open), 1))
	var split []Row
	err := engine.Each(ctx, c.Engine, slices.Values(open), func(t *engine.Task, r *Row) (Row, error) {
		return c.decide(t, r, alpha)
	}, func(_ *engine.Task, same Row) error {
		if len(same.Cases) > 0 {
			split = append(split, same)
		}
		w.Step("")
		return nil
	})
	rows = slices.DeleteFunc(append(rows, split...), func(r Row) bool { return len(r.Cases) == 0 })
	pairUp(rows)
	slices.SortStableFunc(rows, func(x, y Row) int {
		return cmp.Or(cmp.Compare(slices.Index(Kinds, x.Kind), slices.Index(Kinds, y.Kind)),
			cmp.Compare(slices.Index(finding.Classes, x.Left[0].Class), slices.Index(finding.Classes, y.Left[0].Class)),
			cmp.Compare(len(y.Cases), len(x.Cases)), strings.Compare(x.Place, y.Place))
	})
	return rows, err
}

// group makes the rows of the first results. A row has no kind if only one side shows it.
func (c Comparison) group(a, b side) []Row {
	rows := map[string]*Row{}
	add := func(on string, i int, mine, other journal.Result) {
		spec := c.Plan.Specs[i]
		for _, left := range triage.Families(mine.Found) {
			r := Row{Left: left, When: triage.When(spec), Place: spec.Last().Place(), On: on}
			k := Case{Spec: i, A: Count{Runs: 1}, B: Count{Runs: 1}}
			*k.of(on) = Count{1, 1}
			if i >= c.Shared {
				k.A.Runs = 0
				r.Kind, r.OnlyB = Opened, true
				if c.hasLike(a, r) {
					r.Kind = Same
				}
			}
			if shows(left, other.Found) {
				if on == "B" {
					continue // A's row has the case
				}
				k.B.Shown, r.Kind = 1, Same
			}
			key := fmt.Sprint(on, r.Kind, r.When, r.Place, left)
			if rows[key] == nil {
				rows[key] = &r
			}
			rows[key].Cases = append(rows[key].Cases, k)
		}
	}
	for i := range c.Plan.Specs {
		x, inA := a[i]
		y, inB := b[i]
		if !inB || y.Outcome == harness.Invalid || i < c.Shared && (!inA || x.Outcome == harness.Invalid) {
			continue
		}
		add("A", i, x, y)
		add("B", i, y, x)
	}
	out := make([]Row, 0, len(rows))
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		out = append(out, *rows[key])
	}
	return out
}

// hasLike reports whether A shows one of a row's findings at another point of the row's
// function.
func (c Comparison) hasLike(a side, r Row) bool {
	for i, res := range a {
		spec := c.Plan.Specs[i]
		if triage.When(spec) == r.When && spec.Last().Place() == r.Place && shows(r.Left, res.Found) {
			return true
		}
	}
	return false
}

// shows reports whether a case shows one of these signatures: a race decides which
// symptoms of a cause a run shows.
func shows(left []triage.Signature, found []finding.Finding) bool {
	all := triage.Signatures(found)
	return slices.ContainsFunc(left, func(s triage.Signature) bool { return slices.Contains(all, s) })
}

// of returns the count of a side.
func (k *Case) of(side string) *Count {
	if side == "A" {
		return &k.A
	}
	return &k.B
}

// other returns the other side.
func other(side string) string {
	if side == "A" {
		return "B"
	}
	return "A"
}

// chance returns the probability that all runs on the other side hold, if the cases have
// the same rates there.
func (r Row) chance() float64 {
	p := 1.0
	for _, k := range r.Cases {
		p *= k.of(r.On).allHold(k.of(other(r.On)).Runs)
	}
	return p
}

// decide runs the cases of a row on both sides, in turn, until the row has a kind. The
// cases that both sides show move to another row, which decide returns.
func (c Comparison) decide(t *engine.Task, r *Row, alpha float64) (same Row, err error) {
	same = *r
	same.Kind, same.Cases = Same, nil
	for n := 0; len(r.Cases) > 0; n++ {
		if r.Chance = r.chance(); r.Chance <= alpha {
			r.Kind = map[string]Kind{"A": Closed, "B": Opened}[r.On]
			return same, nil
		}
		next := slices.MinFunc(r.indexes(), func(x, y int) int {
			return cmp.Compare(r.Cases[x].A.Runs+r.Cases[x].B.Runs, r.Cases[y].A.Runs+r.Cases[y].B.Runs)
		})
		k := &r.Cases[next]
		rest := alpha / math.Max(r.Chance, alpha) * k.of(r.On).allHold(k.of(other(r.On)).Runs)
		need := k.of(r.On).needed(rest) - k.of(other(r.On)).Runs
		if n >= c.Most || n >= fewRuns && n+need > c.Most {
			r.Kind, r.Needed = Unsure, max(need, 1)
			return same, nil
		}
		for _, on := range []string{other(r.On), r.On} {
			shown, valid, err := c.run(t, *k, r.Left, on)
			if err != nil {
				return same, err
			}
			if !valid { // it shows nothing, so it proves nothing
				r.Kind, r.Needed = Unsure, max(need, 1)
				return same, nil
			}
			k.of(on).Runs++
			if shown {
				k.of(on).Shown++
			}
		}
		if k.of(other(r.On)).Shown > 0 {
			same.Cases = append(same.Cases, *k)
			r.Cases = slices.Delete(r.Cases, next, next+1)
		}
	}
	return same, nil
}

// fewRuns is the number of runs after which a rate tells how many more are needed.
const fewRuns = 6

func (r Row) indexes() []int {
	all := make([]int, len(r.Cases))
	for i := range all {
		all[i] = i
	}
	return all
}

// maxTries is how often a case runs again whose fault did not fire.
const maxTries = 4

// run runs a case on a side, and reports whether it shows the findings, and whether it is
// valid.
func (c Comparison) run(t *engine.Task, k Case, left []triage.Signature, on string) (shown, valid bool, err error) {
	of, err := c.Plan.Specs[k.Spec].Case(map[string]string{"A": c.A, "B": c.B}[on])
	for range maxTries {
		if err != nil {
			break
		}
		var v harness.Verdict
		if v, err = t.Run(of); err == nil && v.Outcome != harness.Invalid {
			return v.Outcome == harness.Violated && shows(left, v.Violations()), true, nil
		}
	}
	return false, false, err
}

// pairUp changes the kind of rows that B closes and opens in the same cases to Changed.
// Their trigger is the same, and the facts are others.
func pairUp(rows []Row) {
	for i := range rows {
		for j := range rows {
			if rows[i].Kind == Closed && rows[j].Kind == Opened && rows[i].sameCases(rows[j]) {
				rows[i].Kind, rows[j].Kind = Changed, Changed
			}
		}
	}
}

func (r Row) sameCases(o Row) bool {
	if len(r.Cases) != len(o.Cases) {
		return false
	}
	for i := range r.Cases {
		if r.Cases[i].Spec != o.Cases[i].Spec {
			return false
		}
	}
	return true
}
