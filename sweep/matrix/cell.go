// Package matrix runs the cases of the catalogue's bugs on several releases and compares
// the results with the catalogue.
package matrix

import (
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/wording"
	"github.com/shimquake/shimquake/sweep/journal"
)

// Seen is the result of a bug's case on a release.
type Seen string

// The results of a cell.
const (
	Shown   Seen = "shown"   // at least one run showed the bug.
	Held    Seen = "held"    // every run held.
	Other   Seen = "other"   // a run showed another bug.
	Invalid Seen = "invalid" // a run has no result: its fault did not fire, or the machine lacks a feature
	// NoPoint means that the cell has no result. The release lacks the fault's point in
	// each of the bug's cases, or the catalogue says (absent, unknown) that it never
	// reaches the point.
	NoPoint Seen = "-"
)

// Expected is the catalogue's expectation for a release.
type Expected string

// The expectations of a cell.
const (
	Bad     Expected = "bad"
	Good    Expected = "ok"
	Unknown Expected = "?" // not tested, or no case can show the bug on this release
)

// Cell is the result of a bug on a release.
type Cell struct {
	Bug     string   `json:"bug"`
	Case    string   `json:"case"`
	Release string   `json:"release"`
	Expect  Expected `json:"expected"`
	Seen    Seen     `json:"seen"`
	// Shown is the number of Runs that had the bug.
	Shown int `json:"shown"`
	Runs  int `json:"runs"`
	// Why describes the violation by another bug, or why a run was invalid.
	Why string `json:"why,omitempty"`
	// Evidence is the folder of the last run that did not hold.
	Evidence string `json:"evidence,omitempty"`
	// Histories has the places of the runs' histories in the file of Matrix.Histories.
	Histories []harness.Part `json:"histories,omitempty"`
	Took      time.Duration  `json:"tookNs"`
}

// Key identifies a cell of the table.
type Key struct{ Bug, Release string }

// Key returns the key of the cell.
func (c Cell) Key() Key { return Key{c.Bug, c.Release} }

// Differs reports whether the catalogue expects another result. It also returns true for
// a cell without a result if the catalogue calls the release bad: a case must have shown
// the bug there.
func (c Cell) Differs() bool {
	switch c.Seen {
	case Shown:
		return c.Expect == Good
	case Held, NoPoint:
		return c.Expect == Bad
	case Other:
		return c.Expect != Unknown
	}
	return false
}

// IsNew reports whether the cell has a result for a release on which the catalogue has
// none.
func (c Cell) IsNew() bool {
	return c.Expect == Unknown && (c.Seen == Shown || c.Seen == Held || c.Seen == Other)
}

// work is a bug on a release, with the runs so far of each of the bug's cases.
type work struct {
	bug     catalogue.Bug
	release string
	runs    [][]*journal.Result
}

// cell returns the result of the runs of the first case for which the release has the
// point. If the cell has no runs, its case is the one to run next.
func (w work) cell() (c Cell) {
	for i, of := range w.bug.Cases {
		none := Cell{Bug: w.bug.ID, Case: of.Name, Release: w.release, Expect: Expect(w.bug, w.release)}
		c = none
		for _, r := range w.runs[i] {
			if c.Seen == Invalid { // it showed nothing, and was run again
				c = none
			}
			c.add(w, *r)
		}
		if c.Seen != NoPoint {
			break
		}
	}
	return c
}

// Expect returns what the catalogue expects of a bug on a release.
func Expect(b catalogue.Bug, release string) Expected {
	if b.Residue != nil {
		return Good // a residue is no violation
	}
	return map[affected.State]Expected{
		affected.Bad: Bad, affected.Free: Good, affected.Unknown: Unknown,
	}[b.StateOf(release)]
}

// chance is the allowed probability that a race shows in no run of a cell.
const chance = 0.01

// maxRuns is the largest number of runs of a cell, for a rare race.
const maxRuns = 12

// wanted returns the number of a cell's runs. It is 1 for a bug that always shows.
func (w work) wanted() int {
	if w.bug.Odds.Sure() {
		return 1
	}
	return min(w.bug.Odds.Needed(chance), maxRuns)
}

// judge returns the result of a run of a case, and the reason.
func (w work) judge(r journal.Result) (Seen, string) {
	switch r.Outcome {
	case harness.Held:
		return Held, ""
	case harness.Invalid:
		if slices.Contains(r.Problems, harness.ByInput) || w.bug.Releases.Unreached(w.release) && r.Unfired {
			return NoPoint, r.Why
		}
		return Invalid, r.Why
	}
	rest := w.withoutBesides(r.Found)
	if len(rest) == 0 {
		return Held, "besides " + strings.Join(w.bug.Beside, ", ")
	}
	if len(w.bug.Left) == 0 {
		return Other, found(r.Found)
	}
	lacks, besides := catalogue.Differences([]catalogue.Bug{w.bug}, rest)
	switch {
	case len(lacks) == len(w.bug.Left) && len(besides) == 0:
		return Held, "only findings that may come with the bug"
	case len(lacks)+len(besides) > 0:
		return Other, otherwise(lacks, besides)
	}
	return Shown, ""
}

// withoutBesides removes the findings of other bugs that the case may also show.
func (w work) withoutBesides(all []finding.Finding) []finding.Finding {
	var others []finding.Match
	for _, id := range w.bug.Beside {
		if b, err := catalogue.FindBug(id); err == nil && b.MayApply(w.release) {
			others = append(others, b.Matches()...)
		}
	}
	var explained []finding.Finding
	for _, f := range all {
		if finding.AnyMatches(others, f) && !finding.AnyMatches(w.bug.Left, f) {
			explained = append(explained, f)
		}
	}
	for _, f := range compare.Companions(explained, all) {
		if !finding.AnyMatches(w.bug.Left, f) {
			explained = append(explained, f)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(f finding.Finding) bool { return slices.Contains(explained, f) })
}

// otherwise describes a run by the bug's missing findings and by the findings of other
// bugs.
func otherwise(lacks, besides []string) string {
	var says []string
	if len(lacks) > 0 {
		says = append(says, "missing: "+strings.Join(lacks, ", "))
	}
	if len(besides) > 0 {
		says = append(says, "besides: "+strings.Join(besides, ", "))
	}
	return strings.Join(says, "; ")
}

func found(all []finding.Finding) (text string) {
	for _, f := range all {
		text += wording.Of(f) + "\n"
	}
	return text
}

// add adds a run to the cell, and keeps the worst result: Other and Invalid replace any
// result, and Held does not replace Shown.
func (c *Cell) add(w work, r journal.Result) {
	order := map[Seen]int{"": 0, Held: 1, Shown: 2, Other: 3, Invalid: 4, NoPoint: 5}
	seen, why := w.judge(r)
	c.Runs++
	if seen == Shown {
		c.Shown++
	}
	c.Took += time.Duration(r.Millis) * time.Millisecond
	c.Histories = append(c.Histories, r.History)
	if order[seen] > order[c.Seen] {
		c.Seen, c.Why, c.Evidence = seen, why, r.Evidence
	}
}

// done reports that more runs cannot change the result.
func (c Cell) done(want int) bool {
	return c.Runs >= want || c.Seen == Other || c.Seen == Invalid || c.Seen == NoPoint ||
		c.Seen == Shown && c.Expect != Good
}
