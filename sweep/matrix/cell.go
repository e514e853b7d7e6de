// Package matrix runs the cases of the catalogue's bugs on several releases and compares
// what it sees with what the catalogue says.
package matrix

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/wording"
)

// Seen is what a case showed on a release.
type Seen string

// What can be seen.
const (
	Shown   Seen = "shown"   // the bug, as the catalogue has it, in at least one run
	Held    Seen = "held"    // every run held
	Other   Seen = "other"   // a violation that is not this bug's
	Invalid Seen = "invalid" // a run showed nothing: a fault that did not fire, a machine that lacks something
	// NoPoint: the release lacks the place of the fault of each of the bug's cases, or,
	// where the catalogue says so (absent, unknown), never comes there. Nothing can be said
	// of it.
	NoPoint Seen = "-"
)

// Expected is what the catalogue says of a release.
type Expected string

// What can be expected.
const (
	Bad     Expected = "bad"
	Good    Expected = "ok"
	Unknown Expected = "?" // nobody has looked, or no case can say it there
)

// Cell is a bug on a release.
type Cell struct {
	Bug     string   `json:"bug"`
	Case    string   `json:"case"`
	Release string   `json:"release"`
	Expect  Expected `json:"expected"`
	Seen    Seen     `json:"seen"`
	// Shown of Runs had the bug.
	Shown int `json:"shown"`
	Runs  int `json:"runs"`
	// Why says what another violation is, or why a run was invalid.
	Why string `json:"why,omitempty"`
	// Evidence is the folder of the last run that did not hold.
	Evidence string `json:"evidence,omitempty"`
	// Histories are where those of its runs stand, see Matrix.Histories.
	Histories []harness.Part `json:"histories,omitempty"`
	Took      time.Duration  `json:"tookNs"`
	// Digest is of the bug's cases and of what it leaves: a cell is run again when either
	// has changed.
	Digest string `json:"digest"`
	// Build is the shimquake that ran it, see journal.BuildID.
	Build string `json:"build"`
}

// Differs reports whether the catalogue says something else. That a release is bad must
// be seen: where no case has a point, it is not known.
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

// News reports whether it tells what the catalogue does not know.
func (c Cell) News() bool {
	return c.Expect == Unknown && (c.Seen == Shown || c.Seen == Held || c.Seen == Other)
}

// work is a cell that is to be run, by one of the bug's cases.
type work struct {
	bug     catalogue.Bug
	c       harness.Case
	release string
}

// Expect is what the catalogue says of a bug on a release.
func Expect(b catalogue.Bug, release string) Expected {
	if b.Residue != nil {
		return Good // it violates nothing
	}
	return map[affected.State]Expected{
		affected.Bad: Bad, affected.Free: Good, affected.Unknown: Unknown,
	}[b.Releases.Of(release)]
}

// digest does not cover which releases have the bug: that is what is compared.
func (w work) digest() string {
	all := slices.Clone(w.bug.Cases)
	for i := range all {
		all[i].Bad, all[i].Containerd = nil, w.release
	}
	of := []any{all[0], w.bug.Left, w.bug.May, w.bug.OneOf, w.bug.Beside, w.bug.Odds}
	for _, c := range all[1:] {
		of = append(of, c)
	}
	sum := sha256.Sum256(fmt.Append(nil, of...))
	return hex.EncodeToString(sum[:])[:12]
}

// surely is the chance with which a bug that depends on luck shows itself in one of a
// cell's runs.
const surely = 0.99

// mostRuns bounds what a cell of a rare race takes.
const mostRuns = 12

// runs are how many runs a cell takes: one of a bug that shows itself each time.
func (w work) runs() int {
	o := w.bug.Odds
	if o.Sure() {
		return 1
	}
	miss := 1 - float64(o.Shown)/float64(o.Of)
	return min(max(int(math.Ceil(math.Log(1-surely)/math.Log(miss))), 1), mostRuns)
}

// judge is what one run shows.
func (w work) judge(v harness.Verdict) (Seen, string) {
	switch v.Outcome {
	case harness.Held:
		return Held, ""
	case harness.Invalid:
		if v.HasProblem(harness.ByInput) || w.bug.Releases.Unreached(w.release) && v.HasProblem(harness.ByMiss) {
			return NoPoint, v.Why()
		}
		return Invalid, v.Why()
	}
	rest := w.withoutBesides(v.Violations())
	if len(rest) == 0 {
		return Held, "besides " + strings.Join(w.bug.Beside, ", ")
	}
	if len(w.c.Bad) == 0 {
		return Other, found(v)
	}
	bad := w.c.Bad[0]
	lacks, besides := bad.Differences(rest)
	switch {
	case len(lacks) == len(bad.By) && len(besides) == 0:
		return Held, "what may come besides, alone"
	case len(lacks)+len(besides) > 0:
		return Other, otherwise(lacks, besides)
	}
	return Shown, ""
}

// withoutBesides is what was found, without what is of other bugs that the case is known
// to show as well.
func (w work) withoutBesides(all []finding.Finding) []finding.Finding {
	var others []finding.Match
	for _, id := range w.bug.Beside {
		if b, err := catalogue.FindBug(id); err == nil && b.Releases.MayApply(w.release) {
			others = append(others, b.Matches()...)
		}
	}
	var explained []finding.Finding
	for _, f := range all {
		if finding.AnyLike(others, f) && !finding.AnyLike(w.bug.Left, f) {
			explained = append(explained, f)
		}
	}
	for _, f := range compare.Companions(explained, all) {
		if !finding.AnyLike(w.bug.Left, f) {
			explained = append(explained, f)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(f finding.Finding) bool { return slices.Contains(explained, f) })
}

// otherwise says what of a bug was not found, and what else was.
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

func found(v harness.Verdict) (text string) {
	for _, f := range v.Violations() {
		text += wording.Of(f) + "\n"
	}
	return text
}

// add takes one more run into the cell. The worst is kept: an invalid run is no answer,
// another violation is one at once, and held says something only where nothing was shown.
func (c *Cell) add(s Seen, why string, v harness.Verdict) {
	order := map[Seen]int{"": 0, Held: 1, Shown: 2, Other: 3, Invalid: 4, NoPoint: 5}
	c.Runs++
	if s == Shown {
		c.Shown++
	}
	c.Took += v.Took
	if order[s] > order[c.Seen] {
		c.Seen, c.Why, c.Evidence = s, why, v.Evidence
	}
}

// done reports that more runs can tell nothing new.
func (c *Cell) done(want int) bool {
	return c.Runs >= want || c.Seen == Other || c.Seen == Invalid || c.Seen == NoPoint ||
		c.Seen == Shown && c.Expect != Good
}
