// Package compare runs the cases of a plan on two containerds, A and B, and says what B
// closes and what it opens.
//
// A violated verdict is a proof, and a held one is not. So a finding is the same as soon
// as the other side shows it, too. It is closed, or opened, when the held runs of the
// other side would be too improbable if it had the same rate.
package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/rate"
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

	next  []Case // the cases to run next, each so many times
	times int
}

// Case is a case of a row, and how many runs on each side show the row's findings.
type Case struct {
	Spec int       `json:"case"` // index in the plan
	A    rate.Odds `json:"a"`
	B    rate.Odds `json:"b"`

	lost bool // a further run was invalid
	long bool // a run waited for a time limit
}

// Comparison compares the runs of a plan's cases on two containerds.
type Comparison struct {
	// Plan has A's cases, which are the first Shared ones, and cases at points that only B
	// has.
	Plan   plan.Plan
	Shared int
	// A and B are the containerds. A is the plan's own.
	A, B string
	// Alpha is the probability of one false result among all rows.
	Alpha float64
	// Most is the number of further runs on each side after which a row is not sure.
	Most int
	// For is the time after which no further run begins, counted from the first one. 0: no
	// limit.
	For time.Duration
	// Functions are the functions that differ: see [Difference].
	Functions []string
	// Of, if not nil, returns the findings of A to compare, and B's own do not count. The
	// default is all findings of both, by their cause.
	Of func([]finding.Finding) [][]triage.Signature
}

// runs are the results of a case on both containerds, in their order.
type runs struct{ a, b []journal.Result }

func (r *runs) of(side string) []journal.Result {
	if side == "A" {
		return r.a
	}
	return r.b
}

// runsOf sorts results by their case and their containerd.
func (c Comparison) runsOf(results []journal.Result) map[int]*runs {
	all := map[int]*runs{}
	for _, r := range results {
		if all[r.I] == nil {
			all[r.I] = &runs{}
		}
		switch of := all[r.I]; r.On {
		case "":
			of.a = append([]journal.Result{r}, of.a...)
		case c.A:
			of.a = append(of.a, r)
		case c.B:
			of.b = append(of.b, r)
		}
	}
	return all
}

// Rows returns the rows of all results so far. The results of a case without a valid
// result on both sides are not compared.
func (c Comparison) Rows(results []journal.Result) []Row {
	all := c.runsOf(results)
	rows := c.group(all)
	open := 0
	for _, r := range rows {
		if r.Kind == "" {
			open++
		}
	}
	var split []Row
	for i := range rows {
		if r := &rows[i]; r.Kind == "" {
			same := r.count(all)
			if split = append(split, same); len(r.Cases) > 0 {
				c.decide(r, c.Alpha/float64(open))
			}
		}
	}
	rows = slices.DeleteFunc(append(rows, split...), func(r Row) bool { return len(r.Cases) == 0 })
	pairUp(rows)
	slices.SortStableFunc(rows, func(x, y Row) int {
		return cmp.Or(cmp.Compare(slices.Index(Kinds, x.Kind), slices.Index(Kinds, y.Kind)),
			cmp.Compare(slices.Index(finding.Classes, x.Left[0].Class), slices.Index(finding.Classes, y.Left[0].Class)),
			cmp.Compare(len(y.Cases), len(x.Cases)), strings.Compare(x.Place, y.Place))
	})
	return rows
}

// group makes the rows of the first results. A row has no kind if only one side shows it.
func (c Comparison) group(all map[int]*runs) []Row {
	rows := map[string]*Row{}
	of := c.Of
	if of == nil {
		of = triage.Families
	}
	add := func(on string, i int, mine, other journal.Result) {
		spec := c.Plan.Specs[i]
		for _, left := range of(mine.Found) {
			r := Row{Left: left, On: on}
			r.When, r.Place = where(spec)
			k := Case{Spec: i, A: rate.Odds{Runs: 1}, B: rate.Odds{Runs: 1}}
			*k.of(on) = rate.Odds{Shown: 1, Runs: 1}
			if i >= c.Shared {
				k.A.Runs = 0
				r.Kind, r.OnlyB = Opened, true
				if c.hasLike(all, r) {
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
		runs := all[i]
		if runs == nil || len(runs.b) == 0 || runs.b[0].Outcome == harness.Invalid {
			continue
		}
		var x journal.Result
		if i < c.Shared {
			if len(runs.a) == 0 || runs.a[0].Outcome == harness.Invalid {
				continue
			}
			x = runs.a[0]
			add("A", i, x, runs.b[0])
		}
		if c.Of == nil {
			add("B", i, runs.b[0], x)
		}
	}
	out := make([]Row, 0, len(rows))
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		out = append(out, *rows[key])
	}
	return out
}

// where returns the effect and the place of a case's faults. A case of the catalogue has
// its name in place of them.
func where(spec plan.Spec) (when, place string) {
	if name := spec.CaseName(); name != "" {
		return "its faults fire", "case " + name
	}
	return triage.When(spec), spec.Last().Place()
}

// hasLike reports whether A shows one of a row's findings at another point of the row's
// function. A function that only B has stands for its callers, which differ, too.
func (c Comparison) hasLike(all map[int]*runs, r Row) bool {
	fresh := !slices.ContainsFunc(c.Plan.Specs[:c.Shared], func(s plan.Spec) bool { return s.Last().Place() == r.Place })
	for i, of := range all {
		when, place := where(c.Plan.Specs[i])
		if when == r.When && (place == r.Place || fresh && slices.Contains(c.Functions, place)) &&
			slices.ContainsFunc(of.a, func(res journal.Result) bool { return shows(r.Left, res.Found) }) {
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
func (k *Case) of(side string) *rate.Odds {
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
		p *= k.of(r.On).AllHold(k.of(other(r.On)).Runs)
	}
	return p
}

// alternate reports whether a finding alternates with another one of its class and cause,
// which both sides show. Then some runs have other facts, and the trigger is the same.
func alternate(left triage.Signature, all *runs) bool {
	with, a, b := map[triage.Signature]bool{}, map[triage.Signature]bool{}, map[triage.Signature]bool{}
	for _, side := range []struct {
		runs []journal.Result
		has  map[triage.Signature]bool
	}{{all.a, a}, {all.b, b}} {
		for _, r := range side.runs {
			found := triage.Signatures(r.Found)
			for _, s := range found {
				side.has[s] = true
				with[s] = with[s] || slices.Contains(found, left)
			}
		}
	}
	for s := range a {
		if b[s] && !with[s] && s.Class == left.Class && triage.Related(s, left) {
			return true
		}
	}
	return false
}

// count counts the runs of the row's cases. The cases that both sides show move to
// another row, which count returns. An invalid further run proves nothing, and the case
// does not run again.
func (r *Row) count(all map[int]*runs) (same Row) {
	same = *r
	same.Kind, same.Cases = Same, nil
	cases := r.Cases
	r.Cases = nil
	for _, k := range cases {
		for _, on := range []string{"A", "B"} {
			n := k.of(on)
			*n = rate.Odds{}
			for _, res := range all[k.Spec].of(on) {
				if res.Outcome == harness.Invalid {
					k.lost = true
					continue
				}
				k.long = k.long || WaitedLong(res)
				n.Runs++
				if shows(r.Left, res.Found) {
					n.Shown++
				}
			}
		}
		if k.of(other(r.On)).Shown > 0 || alternate(r.Left[0], all[k.Spec]) {
			same.Cases = append(same.Cases, k)
		} else {
			r.Cases = append(r.Cases, k)
		}
	}
	return same
}

// decide sets the kind of a row that one side shows. A row that is not sure yet has the
// next cases to run, unless it had enough runs.
func (c Comparison) decide(r *Row, alpha float64) {
	if r.Chance = r.chance(); r.Chance <= alpha {
		r.Kind = map[string]Kind{"A": Closed, "B": Opened}[r.On]
		return
	}
	further := 0
	for _, k := range r.Cases {
		further += max(k.of(other(r.On)).Runs-1, 0)
	}
	usable := slices.DeleteFunc(slices.Clone(r.Cases), func(k Case) bool { return k.lost })
	slices.SortStableFunc(usable, func(x, y Case) int { return cmp.Compare(x.A.Runs+x.B.Runs, y.A.Runs+y.B.Runs) })
	r.Kind, r.Needed = Unsure, 1
	if len(usable) == 0 {
		return
	}
	k := usable[0]
	held := k.of(other(r.On)).Runs
	rest := alpha / math.Max(r.Chance, alpha) * k.of(r.On).AllHold(held)
	r.Needed = max(k.of(r.On).Needed(rest)-held, 1)
	if further >= c.Most || further >= fewRuns && further+r.Needed > c.Most {
		return
	}
	n := atATime
	if k.long {
		n = c.Most
	}
	r.next = usable[:min(r.Needed, len(usable), n)]
	r.times = max(1, min(r.Needed, n)/len(r.next))
}

const (
	// fewRuns is the number of runs after which a rate tells how many more are needed.
	fewRuns = 6
	// atATime limits the further runs of a row on each side before it is judged again. Cases
	// that only wait run as often as needed at once.
	atATime = 5
	// maxTries is how often a case runs again whose fault did not fire.
	maxTries = 4
)

// waitsLong is the duration above which a case has waited for a time limit.
const waitsLong = 20 * time.Second

// WaitedLong reports whether a case has waited for a time limit.
func WaitedLong(r journal.Result) bool { return r.Millis > waitsLong.Milliseconds() }

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
