package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/shimquake/shimquake/bisect"
	"github.com/shimquake/shimquake/quote"
)

// bisectAnswer is what a search has found, for people and as JSON.
type bisectAnswer struct {
	Case string `json:"case"`
	// Is says what First is: "first fixed" or "first bad".
	Is    string `json:"is"`
	First string `json:"first"`
	// Last is the last revision that is as the old end; Between are those after it of which
	// nothing is known: each may be the first.
	Last       string        `json:"last"`
	Between    []string      `json:"between,omitempty"`
	By         []string      `json:"by"`         // what was looked for
	Odds       bisect.Odds   `json:"odds"`       // of it at the bad end
	AtLeast    float64       `json:"atLeast"`    // what they are at least
	Need       int           `json:"need"`       // so many runs must hold
	Asked      float64       `json:"asked"`      // the confidence that was asked for
	Confidence float64       `json:"confidence"` // and is had
	Revisions  int           `json:"revisions"`  // in the range, with its ends
	Runs       int           `json:"runs"`
	Trials     []bisectTrial `json:"trials"`
	Note       string        `json:"note,omitempty"`
	Took       time.Duration `json:"tookNs"`
}

// bisectTrial is a revision that was tried.
type bisectTrial struct {
	Revision string       `json:"revision"`
	Mark     bisect.Mark  `json:"mark"`
	Runs     bisect.Tally `json:"runs"`
	Why      string       `json:"why,omitempty"` // of one that could not be tried
}

// answer is the answer in names.
func (t *trials) answer(a bisect.Answer, took time.Duration) bisectAnswer {
	names := t.row.names
	out := bisectAnswer{
		Case: t.c.Name, Is: "first bad", First: names[a.First], Last: names[a.Last], Revisions: len(names),
		Odds: a.Odds, AtLeast: a.Lower, Need: a.Need, Asked: t.flags.confidence, Confidence: a.Confidence,
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

// String is the answer for a person.
func (a bisectAnswer) String() string {
	var w quote.Text
	if len(a.Between) == 0 {
		w.Line("%s: %s (after %s)", a.Is, a.First, a.Last)
	} else {
		w.Line("%s: %s, or one that could not be tried: %s (after %s)", a.Is, a.First,
			strings.Join(a.Between, ", "), a.Last)
	}
	w.Line("looked for: %s", strings.Join(a.By, "; "))
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
	w.Line("at the bad end it showed in %d of %d runs, so it does in %.0f %% or more; good is what held %d times",
		a.Odds.Shown, a.Odds.Runs, 100*a.AtLeast, a.Need)
	w.Line("sure at %s, if its odds are the same wherever it is in the range", percent(a.Confidence))
	if a.Note != "" {
		w.Line("%s", a.Note)
	}
	return w.String()
}

// percent is a confidence, never rounded up.
func percent(p float64) string { return fmt.Sprintf("%.2f %%", float64(int(p*10000))/100) }
