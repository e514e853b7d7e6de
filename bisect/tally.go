package bisect

import (
	"fmt"
	"strings"

	"github.com/shimquake/shimquake/oracle/rate"
)

// Outcome is the result of one run.
type Outcome string

// The outcomes.
const (
	Held    Outcome = "held"
	Bug     Outcome = "violated"           // the run shows the bug
	Other   Outcome = "violated otherwise" // only other bugs show, which may hide this one
	Invalid Outcome = "invalid"            // the run is inconclusive
)

// Tally counts the outcomes of a revision's runs.
type Tally map[Outcome]int

// Runs returns the number of all runs.
func (t Tally) Runs() (n int) {
	for _, c := range t {
		n += c
	}
	return n
}

// Odds returns how often the bug has shown in the valid runs.
func (t Tally) Odds() rate.Odds { return rate.Odds{Shown: t[Bug], Runs: t.Runs() - t[Invalid]} }

// String formats the counts: "7 of 8 runs held, 1 invalid".
func (t Tally) String() string {
	var parts []string
	for _, o := range []Outcome{Held, Bug, Other, Invalid} {
		if t[o] > 0 {
			of := ""
			if len(parts) == 0 {
				of = fmt.Sprintf("of %d runs ", t.Runs())
			}
			parts = append(parts, fmt.Sprintf("%d %s%s", t[o], of, o))
		}
	}
	return strings.Join(parts, ", ")
}

// leastUseless is the least number of useless runs after which a revision is skipped.
const leastUseless = 3

// Decide returns the mark of a revision, or "" if more runs are needed. One run that
// shows the bug proves it. A revision is good after so many runs without the bug that a
// bad revision would have shown it. Runs that are invalid or show other bugs are
// useless. After need of them, but at least leastUseless, the revision is skipped, as
// git bisect skips a commit that does not compile.
func (t Tally) Decide(need int) Mark {
	switch {
	case t[Bug] > 0:
		return Bad
	case t[Held] >= need:
		return Good
	case t[Other]+t[Invalid] >= max(need, leastUseless):
		return Skip
	}
	return ""
}

// missing returns how many more runs may decide.
func (t Tally) missing(need int) int {
	return min(need-t[Held], max(need, leastUseless)-t[Other]-t[Invalid])
}
