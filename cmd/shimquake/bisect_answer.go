package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/shimquake/shimquake/bisect"
	"github.com/shimquake/shimquake/quote"
)

// bisectAnswer is the result of a search, for people and as JSON.
type bisectAnswer struct {
	Case string `json:"case"`
	// Is is "first fixed" or "first bad".
	Is string   `json:"is"`
	By []string `json:"by"` // The findings that count as the bug.
	bisect.Result
	Asked     float64       `json:"asked"`     // The required confidence.
	Revisions int           `json:"revisions"` // The number of revisions in the range, with its ends.
	Runs      int           `json:"runs"`
	Note      string        `json:"note,omitempty"`
	Took      time.Duration `json:"tookNs"`
}

// answer returns the result of a search.
func (t *trials) answer(a bisect.Result, took time.Duration) bisectAnswer {
	out := bisectAnswer{
		Case: t.c.Name, Is: "first bad", Result: a, Asked: t.flags.confidence, Revisions: len(t.row.names),
		Note: t.row.note, Took: took,
	}
	if t.row.oldIsBad {
		out.Is = "first fixed"
	}
	for _, m := range t.by {
		out.By = append(out.By, m.String())
	}
	for _, trial := range a.Trials {
		out.Runs += trial.Tally.Runs()
	}
	return out
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
		if t.Why == "" {
			tried++
		}
		w.Line("  %-4s  %s: %s", t.Mark, t.Revision, t)
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
