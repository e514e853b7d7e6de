package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/shimquake/shimquake/bisect"
	"github.com/shimquake/shimquake/oracle/rate"
	"github.com/shimquake/shimquake/quote"
)

// bisectAnswer is the result of a search, for people and as JSON.
type bisectAnswer struct {
	Case string `json:"case"`
	// Is is "first fixed" or "first bad".
	Is    string `json:"is"`
	First string `json:"first"`
	// Last is the last revision with the same result as the older end of the range. Between
	// has the untested revisions between Last and First. Any of them may be the true first.
	Last       string        `json:"last"`
	Between    []string      `json:"between,omitempty"`
	By         []string      `json:"by"`         // The findings that count as the bug.
	Odds       rate.Odds     `json:"odds"`       // The odds of the bug at the bad end.
	Need       int           `json:"need"`       // The number of runs that must hold at a good revision.
	Asked      float64       `json:"asked"`      // The required confidence.
	Confidence float64       `json:"confidence"` // The confidence of the result.
	Revisions  int           `json:"revisions"`  // The number of revisions in the range, with its ends.
	Runs       int           `json:"runs"`
	Trials     []bisectTrial `json:"trials"`
	Note       string        `json:"note,omitempty"`
	Took       time.Duration `json:"tookNs"`
}

// bisectTrial is one tried revision.
type bisectTrial struct {
	Revision string       `json:"revision"`
	Mark     bisect.Mark  `json:"mark"`
	Runs     bisect.Tally `json:"runs"`
	Why      string       `json:"why,omitempty"` // The error of a revision that could not be tried.
}

// answer returns the result with the names of revisions.
func (t *trials) answer(a bisect.Result, took time.Duration) bisectAnswer {
	names := t.row.names
	out := bisectAnswer{
		Case: t.c.Name, Is: "first bad", First: names[a.First], Last: names[a.Last], Revisions: len(names),
		Odds: a.Odds, Need: a.Need, Asked: t.flags.confidence, Confidence: a.Confidence,
		Note: t.row.note, Took: took,
	}
	if t.row.oldIsBad {
		out.Is = "first fixed"
	}
	for _, i := range a.Between {
		out.Between = append(out.Between, names[i])
	}
	for _, m := range t.by {
		out.By = append(out.By, m.String())
	}
	for _, trial := range a.Trials {
		why := ""
		if trial.Why != nil {
			why, _, _ = strings.Cut(trial.Why.Error(), "\n")
		}
		out.Runs += trial.Tally.Runs()
		out.Trials = append(out.Trials, bisectTrial{names[trial.Rev], trial.Mark, trial.Tally, why})
	}
	return out
}

func (a bisectAnswer) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(a)
	}
	_, err := io.WriteString(out, a.String())
	return err
}

// String returns the result for people.
func (a bisectAnswer) String() string {
	var w quote.Text
	if len(a.Between) == 0 {
		w.Line("%s: %s (after %s)", a.Is, a.First, a.Last)
	} else {
		w.Line("%s: %s, or one of these untested revisions: %s (after %s)", a.Is, a.First,
			strings.Join(a.Between, ", "), a.Last)
	}
	w.Line("the bug: %s", strings.Join(a.By, "; "))
	tried := 0
	for _, t := range a.Trials {
		says := t.Runs.String()
		if t.Why != "" {
			says = t.Why
		} else {
			tried++
		}
		w.Line("  %-4s  %s: %s", t.Mark, t.Revision, says)
	}
	w.Line("ran %d of %d revisions, %d runs, in %s", tried, a.Revisions, a.Runs, a.Took.Round(time.Second))
	w.Line("the bad end had the bug in %s runs; a good revision held %d times", a.Odds, a.Need)
	w.Line("confidence: %s, if the odds are the same in the whole range", percent(a.Confidence))
	if a.Note != "" {
		w.Line("%s", a.Note)
	}
	return w.String()
}

// percent formats a confidence. It never rounds up.
func percent(p float64) string { return fmt.Sprintf("%.2f %%", float64(int(p*10000))/100) }
