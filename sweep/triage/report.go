package triage

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/rate"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// Report is the report of a sweep. It depends only on the plan and the results, and not
// on their order.
type Report struct {
	Version string     `json:"containerd"`
	Digest  string     `json:"plan"`
	Shard   plan.Shard `json:"shard"`
	// Planned cases have Executed results; in Fired of these the fault happened.
	Planned  int `json:"planned"`
	Executed int `json:"executed"`
	Fired    int `json:"fired"`
	Held     int `json:"held"`
	Violated int `json:"violated"`
	// Again counts the cases that fired only in a later try.
	Again int `json:"firedAgain,omitempty"`
	// Residues count the known residues that are races.
	Residues []rate.Count `json:"residues,omitempty"`
	// Missed are the cases whose fault did not happen, by their reason.
	Missed []Missed `json:"-"`
	// New are the clusters without a known explanation, reproduced or not.
	New   []Cluster `json:"-"`
	Known []Known   `json:"-"`

	settled []Cluster // no longer new, see Settle
}

// Missed are invalid cases with the same reason.
type Missed struct {
	// Why is the reason of the first of the Cases; its text may differ in the others.
	Why   string   `json:"why"`
	Cases []string `json:"invalid"`
	// Unsteady is set if no hit of these cases is in every trace. Fewer is set if the
	// process reached the point less often than in the traces, as in a loop that a ticker
	// or events drive. Then an earlier hit fired, or another case of the hit fired only
	// in a later try. Ignored is set if the process did not check the ended context, or
	// ended by itself before its crash. None of them is an error of the sweep, but many
	// Fewer are.
	Unsteady bool `json:"unsteady,omitempty"`
	Fewer    bool `json:"fewer,omitempty"`
	Ignored  bool `json:"ignored,omitempty"`

	whys []string // of the cases
}

// NewReport makes the report of a sweep, or of a shard.
func NewReport(h journal.Head, results []journal.Result, known []catalogue.Excuse) Report {
	p := h.Plan
	r := Report{Version: p.Version, Digest: p.Digest, Shard: h.Shard, Planned: h.Planned()}
	results = slices.Clone(results)
	slices.SortFunc(results, func(a, b journal.Result) int { return cmp.Compare(a.I, b.I) })
	var all []shown
	var residues []rate.Count
	fired := map[int]bool{}
	for _, res := range results {
		fired[res.I] = r.count(res)
		all = append(all, shown{res.I, res.Paths, res.Found})
		if fired[res.I] {
			residues = append(residues, res.Residues...)
		}
	}
	r.Residues = rate.Sum(residues)
	fresh, seen := split(p, known, all, func(i int) bool { return fired[i] })
	r.New, r.Known, r.Missed = clusters(p, fresh), seen, missed(p, results)
	return r
}

// count counts a result, and reports whether its fault happened.
func (r *Report) count(res journal.Result) (fired bool) {
	r.Executed++
	switch res.Outcome {
	case harness.Held:
		r.Held++
	case harness.Violated:
		r.Violated++
	}
	if res.Unfired || res.Outcome == harness.Invalid {
		return false
	}
	r.Fired++
	if res.Tries > 1 {
		r.Again++
	}
	return true
}

// missed returns the invalid cases, grouped by their reasons in the order of the first
// cases.
func missed(p plan.Plan, results []journal.Result) []Missed {
	type reason struct {
		text            string
		unsteady, fewer bool
	}
	at, first, again := map[reason]int{}, firstFired(p, results), firedAgain(p, results)
	var out []Missed
	for _, res := range results {
		if !res.Unfired && res.Outcome != harness.Invalid {
			continue
		}
		s := p.Specs[res.I]
		n, ok := first[loopOf(s)]
		ignored := res.Miss == harness.MissUnobserved || res.Miss == harness.MissAlreadyExited
		m := Missed{
			Why: res.Why, Unsteady: res.Unfired && s.Unsteady, Ignored: ignored,
			Fewer: res.Unfired && !s.Unsteady && !ignored && // an ignored fault did reach its point
				(ok && n < s.Last().Nth || again[hitOf(s)] || res.Miss == harness.MissTooFew),
		}
		why := reason{res.Reason(), m.Unsteady, m.Fewer}
		i, known := at[why]
		if !known {
			i, at[why] = len(out), len(out)
			out = append(out, m)
		}
		out[i].Cases, out[i].whys = append(out[i].Cases, s.String()), append(out[i].whys, res.Why)
	}
	return out
}

// loop identifies a point whose hits are counted.
type loop struct {
	failpoints.Point
	workload string
}

func loopOf(s plan.Spec) loop { return loop{s.Last().Point, s.Workload} }

// hit is one hit of a point, in one workload.
type hit struct {
	loop
	nth int
}

func hitOf(s plan.Spec) hit { return hit{loopOf(s), s.Last().Nth} }

// firedAgain returns the hits that fired, but not in every try: not every run has them,
// although every trace had.
func firedAgain(p plan.Plan, results []journal.Result) map[hit]bool {
	again := map[hit]bool{}
	for _, res := range results {
		if res.Tries > 1 && !res.Unfired && res.Outcome != harness.Invalid {
			again[hitOf(p.Specs[res.I])] = true
		}
	}
	return again
}

// firstFired returns the earliest hit of each point that fired.
func firstFired(p plan.Plan, results []journal.Result) map[loop]int {
	first := map[loop]int{}
	for _, res := range results {
		if s := p.Specs[res.I]; !res.Unfired && res.Outcome != harness.Invalid {
			if n, ok := first[loopOf(s)]; !ok || s.Last().Nth < n {
				first[loopOf(s)] = s.Last().Nth
			}
		}
	}
	return first
}

// Settle counts a new cluster as a known race if replays show that it came by chance. It
// is not reproduced at its place, and its only finding is the race's. The race's bound
// includes it; without a bound only a cluster of a few cases is settled. A known finding
// that its own case shows again is not gone.
func (r *Report) Settle(p plan.Plan) {
	for i := range r.Known {
		k := &r.Known[i]
		k.Gone = k.Gone && (k.Shown == nil || k.Shown.Same == 0)
	}
	r.New = slices.DeleteFunc(r.New, func(c Cluster) bool {
		i := slices.IndexFunc(r.Known, func(k Known) bool { return k.ID == c.chance })
		if i < 0 || c.cameAgain() || r.Known[i].Most == 0 && c.Reproduced() {
			return false
		}
		r.settled = append(r.settled, c)
		k := &r.Known[i]
		k.occurrences = append(k.occurrences, c.occurrences...)
		k.ByChance += c.Cases
		k.sum(p)
		return true
	})
}

// Gone returns the ids of known findings that are gone.
func (r Report) Gone() []string {
	var ids []string
	for _, k := range r.Known {
		if k.Gone {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

// Reproduced returns the reproduced new clusters: see [Cluster.Reproduced].
func (r Report) Reproduced() []Cluster {
	return slices.DeleteFunc(slices.Clone(r.New), func(c Cluster) bool { return !c.Reproduced() })
}

// Exceeded returns the known findings with more cases than known.
func (r Report) Exceeded() []Known {
	return slices.DeleteFunc(slices.Clone(r.Known), func(k Known) bool { return !k.Exceeds() })
}

// TooOften returns the known residues that occur too often for chance.
func (r Report) TooOften() []rate.Count {
	return slices.DeleteFunc(slices.Clone(r.Residues), func(c rate.Count) bool { return !c.Exceeds() })
}

// Fresh returns the number of news: reproduced clusters, known findings with too many
// cases, and residues that occur too often.
func (r Report) Fresh() int { return len(r.Reproduced()) + len(r.Exceeded()) + len(r.TooOften()) }

// Seen returns the number of known findings in the sweep.
func (r Report) Seen() int {
	n := 0
	for _, k := range r.Known {
		if k.Cases > 0 {
			n++
		}
	}
	return n
}

// mostFewer is the number of cases per allowed miss of a hit by a loop that ran less
// often than in the traces. Default sweeps of 4,636 cases had one or two.
const mostFewer = 1000

// Status returns the exit status. It is 1 if a finding is new or a known one is gone.
// It is 3 if a case did not run or is invalid without an excuse, and 0 otherwise.
func (r Report) Status() int {
	blind, fewer := false, 0
	for _, m := range r.Missed {
		blind = blind || !m.Unsteady && !m.Fewer && !m.Ignored
		if m.Fewer {
			fewer += len(m.Cases)
		}
	}
	blind = blind || fewer > max(1, r.Planned/mostFewer)
	switch {
	case r.Fresh() > 0 || len(r.Gone()) > 0:
		return 1
	case r.Executed < r.Planned || r.Fired == 0 || blind:
		return 3
	}
	return 0
}

// Lacks describes the planned cases without a result, which weaken the whole report. It
// is "" if there are none.
func (r Report) Lacks() string {
	if r.Executed >= r.Planned {
		return ""
	}
	return fmt.Sprintf("%d of %d planned cases have no result: the sweep was ended, or still runs, "+
		"and they are unknown", r.Planned-r.Executed, r.Planned)
}

// JSON writes the report as JSON objects, one a line.
func (r Report) JSON(w io.Writer) error {
	var lines []any
	for _, m := range r.Missed {
		lines = append(lines, m)
	}
	for _, k := range r.Known {
		lines = append(lines, k)
	}
	for _, c := range r.New {
		lines = append(lines, c)
	}
	lines = append(lines, struct {
		Report
		New           int `json:"new"`
		NotReproduced int `json:"notReproduced"`
		Known         int `json:"known"`
		Gone          int `json:"gone"`
	}{r, r.Fresh(), len(r.New) - len(r.Reproduced()), r.Seen(), len(r.Gone())})
	enc := json.NewEncoder(w)
	for _, line := range lines {
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	return nil
}
