package journal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/rate"
)

// Result is the result of one case.
type Result struct {
	// I is the case's index in the plan.
	I int `json:"case"`
	// On names the containerd of a further run, of the plan's containerd or another one.
	// The case's own result, of which there is one, has none.
	On      string          `json:"on,omitempty"`
	Outcome harness.Outcome `json:"verdict"`
	// Why is the reason of an invalid verdict, for people. A violated case also has it if
	// its fault did not fire.
	Why string `json:"why,omitempty"`
	// Problems are the kinds of the verdict's problems, each once.
	Problems []harness.ProblemKind `json:"problems,omitempty"`
	// Unfired is set if a fault did not happen.
	Unfired bool `json:"unfired,omitempty"`
	// Miss is the kind of reason for which a fault had no effect, if it is known.
	Miss harness.Miss `json:"miss,omitempty"`
	// Tries is the number of runs until the fault fired, if there were more than 1.
	Tries int `json:"tries,omitempty"`
	// Paths has the path on which each of the faults fired, see History.PathAt. "" is
	// unknown. On a busy machine the path may differ from the traces.
	Paths []string `json:"paths,omitempty"`
	// Found are the violations.
	Found []finding.Finding `json:"found,omitempty"`
	// Residues count the known residues that occur only in some runs.
	Residues []rate.Count `json:"residues,omitempty"`
	// Met are the functions that the run reached, by their indexes in the Functions of the
	// journal's head: see [Head.Reached].
	Met []byte `json:"met,omitempty"`
	// Evidence is the folder with the evidence. A sweep keeps it for the first few cases
	// of a kind.
	Evidence string `json:"evidence,omitempty"`
	Millis   int64  `json:"ms"`
	// History is the place of the case's history in the file of histories.
	History harness.Part `json:"history,omitzero"`

	packed []byte // the compressed history, until Add writes it
}

// Keep adds the verdict's history to the result.
func (r *Result) Keep(v harness.Verdict) (err error) {
	if v.History != nil {
		r.packed, err = harness.Kept{Verdict: v, History: *v.History}.Pack()
	}
	return err
}

// ResultOf returns the result of a verdict for the case with that index. It returns an
// error if the machine cannot run any case.
func ResultOf(i int, v harness.Verdict) (Result, error) {
	if v.UnableHere() {
		return Result{}, fmt.Errorf("this machine cannot run the sweep: %s", v.ProblemsText())
	}
	return NewResult(i, v), nil
}

// NewResult returns the result of a verdict for the case with that index, also if the
// machine cannot run the case.
func NewResult(i int, v harness.Verdict) Result {
	r := Result{
		I: i, Outcome: v.Outcome, Residues: v.Residues, Evidence: v.Evidence, Millis: v.Took.Milliseconds(),
		Unfired: v.HasProblem(harness.ByMiss),
	}
	if v.Outcome == harness.Violated { // findings of an invalid case do not count
		r.Found, r.Paths = v.Violations(), pathsOf(v)
	}
	for _, p := range v.Problems {
		if !slices.Contains(r.Problems, p.Kind) {
			r.Problems = append(r.Problems, p.Kind)
		}
	}
	slices.Sort(r.Problems)
	r.Why, r.Miss = whyNot(v)
	return r
}

// pathsOf returns the path on which each fault of a verdict's plan fired.
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

// Own returns the results of a sweep's cases without the further runs.
func Own(all []Result) []Result {
	return slices.DeleteFunc(slices.Clone(all), func(r Result) bool { return r.On != "" })
}

// Reason returns the same text for invalid cases with the same kinds of reasons.
func (r Result) Reason() string { return fmt.Sprint(r.Problems, " ", r.Miss) }

// whyNot returns why a case is invalid, or why its faults did not fire, and the known
// kind of that reason.
func whyNot(v harness.Verdict) (string, harness.Miss) {
	missed := slices.DeleteFunc(slices.Clone(v.Firings), func(f harness.Firing) bool { return f.Count > 0 })
	if len(missed) == 0 {
		return v.ProblemsText(), ""
	}
	miss := missed[0].Miss
	var why []string
	for _, f := range missed {
		why = append(why, f.Proof)
		if f.Miss == "" {
			miss = "" // one fault did not fire for an unknown reason
		}
	}
	return "not fired: " + strings.Join(why, "; "), miss
}
