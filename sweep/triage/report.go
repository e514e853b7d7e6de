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

// Report is what a sweep has found. It is made of the plan and the results, in whatever
// order they came, and of nothing else.
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
	// Again is how many fired only when they were tried again.
	Again int `json:"firedAgain,omitempty"`
	// Residues are how often known residues that are races were left.
	Residues []rate.Count `json:"residues,omitempty"`
	// Missed are the cases whose fault did not happen, by why.
	Missed []Missed `json:"-"`
	// New are the clusters that nothing known explains, also those that do not come again.
	New   []Cluster `json:"-"`
	Known []Known   `json:"-"`

	settled []Cluster // were new, see Settle
}

// Missed are cases that show nothing, for the same reason.
type Missed struct {
	// Why is that of the first of the Cases; another may say it in other words.
	Why   string   `json:"why"`
	Cases []string `json:"invalid"`
	// Unsteady is set where all of them are of hits which not every trace had. Fewer is set
	// where the point was passed, or an earlier hit of it fired: its loop, driven by a
	// ticker or by events, went round less often than in the traces; or where another case
	// of the same hit fired only when it was tried again. Unheeded is set where the process
	// did not look at the context which was ended, or ended by itself before it could
	// crash. None of them is an error of the sweep, but more than a few Fewer are.
	Unsteady bool `json:"unsteady,omitempty"`
	Fewer    bool `json:"fewer,omitempty"`
	Unheeded bool `json:"unheeded,omitempty"`

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

// missed are the cases that show nothing, by their reasons, those of the first case
// first.
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
		unheeded := res.Miss == harness.MissUnobserved || res.Miss == harness.MissAlreadyExited
		m := Missed{
			Why: res.Why, Unsteady: res.Unfired && s.Unsteady, Unheeded: unheeded,
			Fewer: res.Unfired && !s.Unsteady && !unheeded && // who did not heed it has passed it
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

// loop is where hits of a point are counted.
type loop struct {
	failpoints.Point
	workload string
}

func loopOf(s plan.Spec) loop { return loop{s.Last().Point, s.Workload} }

// hit is one of a point, in one workload.
type hit struct {
	loop
	nth int
}

func hitOf(s plan.Spec) hit { return hit{loopOf(s), s.Last().Nth} }

// firedAgain are the hits that have fired, but not in every try: not every run has them,
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

// firstFired is the earliest hit of each point that has fired.
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

// Settle counts what replays have shown to be a known race that came by chance among
// the cases of that: it does not come again where it was seen, and nothing else was. Its
// bound holds for all of them; where it has none, only a cluster of a few cases is
// settled. A known finding that its own case shows again is not gone.
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

// Gone are the ids of known findings that are gone.
func (r Report) Gone() []string {
	var ids []string
	for _, k := range r.Known {
		if k.Gone {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

// Reproduced are the new clusters, without those that do not come again: see
// [Cluster.Reproduced].
func (r Report) Reproduced() []Cluster {
	return slices.DeleteFunc(slices.Clone(r.New), func(c Cluster) bool { return !c.Reproduced() })
}

// Exceeded are the known findings that more cases show than are known.
func (r Report) Exceeded() []Known {
	return slices.DeleteFunc(slices.Clone(r.Known), func(k Known) bool { return !k.Exceeds() })
}

// TooOften are the known residues that are left more often than by chance.
func (r Report) TooOften() []rate.Count {
	return slices.DeleteFunc(slices.Clone(r.Residues), func(c rate.Count) bool { return !c.Exceeds() })
}

// Fresh is how much is new: clusters that come again, known findings with more cases than
// are known, and residues that are no chance any more.
func (r Report) Fresh() int { return len(r.Reproduced()) + len(r.Exceeded()) + len(r.TooOften()) }

// Seen is how many known findings were found.
func (r Report) Seen() int {
	n := 0
	for _, k := range r.Known {
		if k.Cases > 0 {
			n++
		}
	}
	return n
}

// mostFewer is of how many cases one may lack its hit because a loop went round less
// often than in the traces: in default sweeps of 4,636 it was one or two.
const mostFewer = 1000

// Status is the exit status: 1 where something is new or a known finding is gone, 3 where
// a case did not run or shows nothing and should, 0 otherwise.
func (r Report) Status() int {
	blind, fewer := false, 0
	for _, m := range r.Missed {
		blind = blind || !m.Unsteady && !m.Fewer && !m.Unheeded
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

// Lacks says what makes all else worth less than it looks: cases that were planned and
// have no result. It is "" where there are none.
func (r Report) Lacks() string {
	if r.Executed >= r.Planned {
		return ""
	}
	return fmt.Sprintf("%d of %d planned cases have no result: the sweep was ended, or still runs, "+
		"and nothing is known of them", r.Planned-r.Executed, r.Planned)
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
