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
	// Planned is the number of planned cases, Executed is how many have a result, and
	// Fired is in how many the fault happened.
	Planned  int `json:"planned"`
	Executed int `json:"executed"`
	Fired    int `json:"fired"`
	Held     int `json:"held"`
	Violated int `json:"violated"`
	// Again counts the cases whose fault fired only in a later try.
	Again int `json:"firedAgain,omitempty"`
	// Residues count the known residues that occur only in some runs. A residue is
	// something that a release leaves, and that is no violation.
	Residues []rate.Count `json:"residues,omitempty"`
	// Missed has the invalid cases, and the cases whose fault did not happen, grouped by
	// reason.
	Missed []Missed `json:"-"`
	// New has the clusters that no known finding explains, reproduced or not.
	New   []Cluster `json:"-"`
	Known []Known   `json:"-"`
}

// Missed are cases that are invalid, or whose fault did not happen, for the same reason.
type Missed struct {
	// Why is the reason of the first of the Cases. Its text may differ in the others.
	Why   string   `json:"why"`
	Cases []string `json:"invalid"`
	// Unsteady is set if the processes had been asked to exit. Fewer is set if the
	// process reached the point less often than in the traces. This happens in a loop
	// that a ticker or events drive. Evidence for this is that an earlier hit fired, or
	// that another case of the hit fired only in a later try. Ignored is set if the
	// process did not check the ended context, or exited by itself before its crash.
	// These cases do not fail the sweep, except if many are Fewer.
	Unsteady bool `json:"unsteady,omitempty"`
	Fewer    bool `json:"fewer,omitempty"`
	Ignored  bool `json:"ignored,omitempty"`

	whys []string // the reason of each of the cases
}

// NewReport makes the report of a sweep, or of a shard. The causes say whether
// other containerds show its findings.
func NewReport(h journal.Head, results []journal.Result, known []catalogue.Excuse, causes ...Cause) Report {
	p := h.Plan
	r := Report{Version: p.Version, Digest: p.Digest, Shard: h.Shard, Planned: h.Planned()}
	results = journal.Own(results)
	slices.SortFunc(results, func(a, b journal.Result) int { return cmp.Compare(a.I, b.I) })
	var residues []rate.Count
	for _, res := range results {
		if r.count(res) {
			residues = append(residues, res.Residues...)
		}
	}
	r.Residues = rate.Sum(residues)
	fresh, seen := split(p, known, results, causes)
	r.New, r.Known = clusters(p, fresh), seen
	if !h.Random {
		r.Missed = missed(p, results)
	}
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

// missed returns the cases that are invalid or whose fault did not happen, grouped by
// their reasons. The groups are in the order of their first cases.
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
			Fewer: res.Unfired && !s.Unsteady && !ignored && // the process reached the point of an ignored fault
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

// firedAgain returns the hits that fired only in a later try. So some run lacked them,
// although every trace had them.
func firedAgain(p plan.Plan, results []journal.Result) map[hit]bool {
	again := map[hit]bool{}
	for _, res := range results {
		if res.Tries > 1 && !res.Unfired && res.Outcome != harness.Invalid {
			again[hitOf(p.Specs[res.I])] = true
		}
	}
	return again
}

// firstFired returns the number of the earliest hit that fired, for each point.
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

// Reproduced returns the new clusters that count as reproduced: see [Cluster.Reproduced].
func (r Report) Reproduced() []Cluster {
	return slices.DeleteFunc(slices.Clone(r.New), func(c Cluster) bool { return !c.Reproduced() })
}

// TooOften returns the known residues that occur too often for chance.
func (r Report) TooOften() []rate.Count {
	return slices.DeleteFunc(slices.Clone(r.Residues), func(c rate.Count) bool { return !c.Exceeds() })
}

// NeedAttention returns the number of results that need attention: reproduced new
// clusters, and residues that occur too often.
func (r Report) NeedAttention() int { return len(r.Reproduced()) + len(r.TooOften()) }

// maxFewer allows one case with Fewer for this many cases of the sweep. Default sweeps
// of 4,636 cases had one or two.
const maxFewer = 1000

// Status returns the exit status. It is 1 if a finding is new. It is 3 if a case did not
// run, or is invalid for none of the reasons in Missed. Otherwise it is 0.
func (r Report) Status() int {
	blind, fewer := false, 0
	for _, m := range r.Missed {
		blind = blind || !m.Unsteady && !m.Fewer && !m.Ignored
		if m.Fewer {
			fewer += len(m.Cases)
		}
	}
	blind = blind || fewer > max(1, r.Planned/maxFewer)
	switch {
	case r.NeedAttention() > 0:
		return 1
	case r.Executed < r.Planned || r.Fired == 0 || blind:
		return 3
	}
	return 0
}

// Lacks describes the planned cases without a result, because without them the report is
// incomplete. It returns "" if there are none.
func (r Report) Lacks() string {
	if r.Executed >= r.Planned {
		return ""
	}
	return fmt.Sprintf("%d of %d planned cases have no result: the sweep was interrupted, or still runs, "+
		"and may find more", r.Planned-r.Executed, r.Planned)
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
	}{r, r.NeedAttention(), len(r.New) - len(r.Reproduced()), len(r.Known)})
	enc := json.NewEncoder(w)
	for _, line := range lines {
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	return nil
}
