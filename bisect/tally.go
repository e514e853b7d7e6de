package bisect

import (
	"fmt"
	"strings"
)

// Outcome is what one run shows.
type Outcome string

// The outcomes.
const (
	Held    Outcome = "held"
	Bug     Outcome = "violated"           // by what is looked for
	Other   Outcome = "violated otherwise" // by other findings alone: another bug, which may hide this one
	Invalid Outcome = "invalid"            // nothing is known
)

// Tally counts the outcomes of a revision's runs.
type Tally map[Outcome]int

// Runs are all of them.
func (t Tally) Runs() (n int) {
	for _, c := range t {
		n += c
	}
	return n
}

// Odds are how often the bug has shown, of the runs that say anything.
func (t Tally) Odds() Odds { return Odds{Shown: t[Bug], Runs: t.Runs() - t[Invalid]} }

// String is the counts for a person: "held 7, invalid 1".
func (t Tally) String() string {
	var parts []string
	for _, o := range []Outcome{Held, Bug, Other, Invalid} {
		if t[o] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", o, t[o]))
		}
	}
	return strings.Join(parts, ", ")
}

// mostUseless is how many runs may show nothing before a revision is passed by, where
// fewer than that must hold.
const mostUseless = 3

// Decide is what the runs make of a revision, "" as long as more are needed. One run that
// shows the bug proves it. It is good when it has held so often that the bug would have
// shown. Runs that are violated otherwise, or invalid, say neither: where there are as
// many of those, it is passed by, as git bisect passes by what does not compile.
func (t Tally) Decide(need int) Mark {
	switch {
	case t[Bug] > 0:
		return Bad
	case t[Held] >= need:
		return Good
	case t[Other]+t[Invalid] >= max(need, mostUseless):
		return Skip
	}
	return ""
}

// missing is how many more runs may decide.
func (t Tally) missing(need int) int {
	return min(need-t[Held], max(need, mostUseless)-t[Other]-t[Invalid])
}
