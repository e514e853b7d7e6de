package journal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/rate"
)

// Result is what came of one case.
type Result struct {
	// I is the case's index in the plan.
	I       int             `json:"case"`
	Outcome harness.Outcome `json:"verdict"`
	// Why says for a person why the verdict is invalid, or what a violated case does not
	// show besides: the fault did not fire.
	Why string `json:"why,omitempty"`
	// Problems are the kinds of what it says, each once.
	Problems []harness.ProblemKind `json:"problems,omitempty"`
	// Unfired is set where a fault did not happen.
	Unfired bool `json:"unfired,omitempty"`
	// Miss is why a fault came to nothing, where that is known.
	Miss harness.Miss `json:"miss,omitempty"`
	// Tries is how often the case ran until its fault fired; only those that are more than 1
	// are noted.
	Tries int `json:"tries,omitempty"`
	// Paths are what was going on when each of the faults fired, see History.PathAt: a busy
	// machine may have come further, or less far, than the traces. "" where nobody knows.
	Paths []string `json:"paths,omitempty"`
	// Found is what violates.
	Found []finding.Finding `json:"found,omitempty"`
	// Residues are how often known residues that are races were left.
	Residues []rate.Count `json:"residues,omitempty"`
	// Evidence is the folder with the evidence, of the first few of a kind.
	Evidence string `json:"evidence,omitempty"`
	Millis   int64  `json:"ms"`
	// History is where the case's history stands in the file of histories.
	History harness.Part `json:"history,omitzero"`

	packed []byte // the history, until it is written
}

// Keep has the history of the verdict kept with the result.
func (r *Result) Keep(v harness.Verdict) (err error) {
	if v.History != nil {
		r.packed, err = harness.Kept{Verdict: v, History: *v.History}.Pack()
	}
	return err
}

// ResultOf is what a verdict says of the case with that index. The error is that of a
// machine that cannot run any case.
func ResultOf(i int, v harness.Verdict) (Result, error) {
	if v.Unable() {
		return Result{}, fmt.Errorf("this machine cannot run the sweep: %s", v.Why())
	}
	r := Result{
		I: i, Outcome: v.Outcome, Residues: v.Residues, Evidence: v.Evidence, Millis: v.Took.Milliseconds(),
		Unfired: v.HasProblem(harness.ByMiss),
	}
	if v.Outcome == harness.Violated { // what an invalid case leaves is no finding
		r.Found, r.Paths = v.Violations(), pathsOf(v)
	}
	for _, p := range v.Problems {
		if !slices.Contains(r.Problems, p.Kind) {
			r.Problems = append(r.Problems, p.Kind)
		}
	}
	slices.Sort(r.Problems)
	r.Why, r.Miss = whyNot(v)
	return r, nil
}

// pathsOf are what was going on when each fault of a verdict's plan fired.
func pathsOf(v harness.Verdict) []string {
	if v.History == nil {
		return nil
	}
	paths := make([]string, len(v.Case.Plan))
	for _, f := range v.Firings {
		if f.Fault >= 0 && f.Fault < len(paths) && !f.At.IsZero() {
			paths[f.Fault] = v.History.PathAt(f.At)
		}
	}
	return paths
}

// Reason is the same for cases that show nothing for one reason.
func (r Result) Reason() string { return fmt.Sprint(r.Problems, " ", r.Miss) }

// whyNot returns why a case shows nothing, or not all, and whether that is a miss that
// nobody can help. Of a fault that did not fire that is what is known of it; what was hit
// instead is in the evidence.
func whyNot(v harness.Verdict) (string, harness.Miss) {
	missed := slices.DeleteFunc(slices.Clone(v.Firings), func(f harness.Firing) bool { return f.Count > 0 })
	if len(missed) == 0 {
		return v.Why(), ""
	}
	miss := missed[0].Miss
	var why []string
	for _, f := range missed {
		why = append(why, f.Proof)
		if f.Miss == "" {
			miss = "" // one that nothing explains
		}
	}
	return "not fired: " + strings.Join(why, "; "), miss
}
