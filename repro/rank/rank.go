// Package rank compares what a report tells with the bugs of the catalogue: which of them
// explain it, with the reason for each point. It is pure.
package rank

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/repro/read"
)

// Fit is how well a bug fits a report.
type Fit struct {
	Bug     catalogue.Bug `json:"-"`
	ID      string        `json:"bug"`
	Score   int           `json:"score"`
	Reasons []Reason      `json:"reasons"`
	// Clears is set where the bug explains more than half of the symptoms and nothing speaks
	// against it.
	Clears bool `json:"fits"`
}

// Reason is one point for or against a bug.
type Reason struct {
	Why Why `json:"why"`
	// What was seen, and on which lines.
	What  read.What `json:"what,omitempty"`
	Lines []int     `json:"lines,omitempty"`
	// Is says by what: a match, a pattern, a function, a release.
	Is string `json:"is,omitempty"`
	// Points are what it adds to the score.
	Points int `json:"points"`
}

// Why is a kind of reason.
type Why string

// The reasons, and what each counts.
const (
	Named       Why = "issue-named"      // the report names its issue
	Explains    Why = "explains"         // a symptom is what it leaves
	Brings      Why = "brings"           // a symptom is what comes with what it leaves
	MayLeave    Why = "may-leave"        // a symptom is what it leaves at times, besides
	Logs        Why = "logs"             // a message is one that it logs: the rarer, the more it counts
	Needs       Why = "needs"            // what it takes has happened
	Nearly      Why = "nearly-needs"     // what is much like what it takes has happened
	AtPlace     Why = "place"            // a function is in its window
	Unexplained Why = "does-not-explain" // a symptom that it does not leave
	Unneeded    Why = "does-not-need"    // something happened that it does not take
	Unreported  Why = "not-reported"     // it takes something that nobody tells of
	Otherwise   Why = "set-off-by-other" // something died that it does not take, and it takes what nobody tells of
	Conflicts   Why = "conflicts"        // it leaves the same kind of thing in another state
	OtherOne    Why = "not-this-release" // the reported release does not have it
	NotLooked   Why = "not-looked-at"    // nobody knows whether the reported release has it
	OtherClient Why = "other-client"     // its way to containerd is not the reported one
	Doubtful    Why = "lead"             // no function really fails so
	Harmless    Why = "residue"          // it is known to be left, and is no violation
)

// Whys are all reasons.
func Whys() []Why { return append(slices.Sorted(maps.Keys(points)), Logs) }

// half of a message must be the bug's, to be explained by it.
const half = 0.5

// bar is the least that a bug scores that fits: a symptom, less what it takes and nobody
// tells of.
const bar = 3

var points = map[Why]int{
	Named: 8, Explains: 4, Brings: 1, MayLeave: 1, Needs: 3, Nearly: 1, AtPlace: 3,
	Unexplained: -3, Unneeded: -2, Unreported: -1, Otherwise: -2, Conflicts: -5,
	OtherOne: -100, OtherClient: -3,
	NotLooked: -2, Doubtful: -2, Harmless: -3,
}

// excluding are the reasons for which a bug cannot be it.
var excluding = []Why{Conflicts, OtherOne}

// Rank compares a report with bugs, the best first; of those that fit alike, as they
// were. Of a release that nobody tells, no bug is out.
func Rank(r read.Report, release string, bugs []catalogue.Bug) []Fit {
	fits := make([]Fit, len(bugs))
	for i, b := range bugs {
		fits[i] = fit(r, release, b)
	}
	slices.SortStableFunc(fits, func(a, b Fit) int {
		return cmp.Or(boolean(b.Clears)-boolean(a.Clears), cmp.Compare(b.Score, a.Score),
			cmp.Compare(met(a.Bug), met(b.Bug)), cmp.Compare(reports(b.Bug), reports(a.Bug)))
	})
	return fits
}

// met is 0 for a bug that users have met and a release has fixed, and 1 for one without a
// fix. It is 2 for a bug that a fault has shown, and 3 for a lead.
func met(b catalogue.Bug) int {
	switch {
	case b.Kind == catalogue.Lead:
		return 3
	case !slices.Contains(b.Verified.By, catalogue.Reported):
		return 2
	case b.Releases.Open():
		return 1
	}
	return 0
}

// reports is how many public threads are about a bug: what many have met is likelier.
func reports(b catalogue.Bug) (n int) {
	for _, t := range b.Threads {
		n += boolean(t.Word == "issue")
	}
	return n
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

func fit(r read.Report, release string, b catalogue.Bug) Fit {
	f := Fit{Bug: b, ID: b.ID}
	switch state := b.Releases.Of(release); {
	case release == "" || state == affected.Bad:
	case state == affected.Unknown:
		f.add(NotLooked, "", nil, b.Releases.String())
	default:
		f.add(OtherOne, "", nil, b.Releases.String())
	}
	logs := logsOf(b, release)
	reported, total := f.symptoms(r, b, logs)
	said := f.messages(r, logs)
	f.conditions(r, b, logs)
	f.names(r, b)
	c, ok := b.Case()
	if ok && (r.Client == read.Dockerd || r.Client == read.Ctr) && c.Workload.API == "cri" {
		f.add(OtherClient, "", nil, string(r.Client))
	}
	namespace := ok && r.Client == read.Ctr && c.Workload.API == "cri" // which CRI never looks at
	switch b.Kind {
	case catalogue.Lead:
		f.add(Doubtful, "", nil, "")
	case catalogue.Residue:
		f.add(Harmless, "", nil, "")
	}
	out := namespace || slices.ContainsFunc(f.Reasons, func(x Reason) bool { return slices.Contains(excluding, x.Why) })
	if quotes(r) { // a message counts as much as a thing that is left
		total++
		if said {
			reported++
		}
	}
	if b.Kind == catalogue.Lead && !slices.ContainsFunc(f.Reasons, func(x Reason) bool { return x.Why == Named }) {
		out = true
	}
	f.Clears = !out && 2*reported > total && f.Score >= bar && !elsewhere(r)
	return f
}

// elsewhere reports whether a report is about something else, and no listing shows that
// anything is left. What the kernel does not let end stays, and cannot be removed.
func elsewhere(r read.Report) bool {
	kernel := r.Tells(read.KernelWait)
	return len(r.Of(read.Elsewhere)) > 0 &&
		!slices.ContainsFunc(r.Of(read.Symptom), func(o read.Observation) bool {
			return !o.Logged && (!kernel || o.What != read.Zombie)
		})
}

// Sure reports whether the report says more of a bug than what many leave: its message,
// or its issue.
func (f Fit) Sure() bool {
	return slices.ContainsFunc(f.Reasons, func(x Reason) bool { return x.Why == Logs || x.Why == Named })
}

func (f *Fit) add(why Why, what read.What, lines []int, is string) {
	f.reason(Reason{Why: why, What: what, Lines: lines, Is: is, Points: points[why]})
}

func (f *Fit) reason(r Reason) {
	f.Score += r.Points
	f.Reasons = append(f.Reasons, r)
}

// symptoms compares what is left with what the bug leaves.
func (f *Fit) symptoms(r read.Report, b catalogue.Bug, l logs) (explained, total int) {
	all, explained, total := leftBy(b, l).explain(r)
	for _, x := range all {
		x.Points = points[x.Why]
		if x.Why != Brings {
			x.Points += exact(b, x.of)
		}
		f.reason(x.Reason)
	}
	return explained, total
}

// exact is 1 where the bug names a fact that was seen, and 2 where it names the code. How
// many facts a page names says nothing.
func exact(b catalogue.Bug, o read.Observation) (best int) {
	for _, m := range b.Left {
		if m.Class != o.Class() || !Agree(m.Facts, o.Facts) {
			continue
		}
		for k := range m.Facts {
			if m.Facts[k] != "" && m.Facts[k] == o.Facts[k] {
				best = max(best, 1+boolean(k == int(fact.Code)))
			}
		}
	}
	return best
}

// names looks for the bug's threads and the functions of its window.
func (f *Fit) names(r read.Report, b catalogue.Bug) {
	for _, o := range r.Of(read.Thread) {
		for _, t := range b.Threads {
			if t.Word == "compare" {
				continue
			}
			repo, number, _ := strings.Cut(t.Name, "#")
			if repo == "containerd" && number == o.Text || repo == "moby" && strings.HasSuffix(o.Text, "#"+number) {
				f.add(Named, o.What, o.Lines, t.Name)
			}
		}
	}
	for _, o := range r.Of(read.Place) {
		if isIn(b, o.Text) {
			f.add(AtPlace, o.What, o.Lines, o.Text)
		}
	}
}

// isIn reports whether a function's name stands in a bug's window. The names that a
// report has may lack the type, and have a package.
func isIn(b catalogue.Bug, function string) bool {
	last := LastPart(function)
	if strings.HasSuffix(function, ".go") {
		return strings.Contains(b.Window, function)
	}
	for _, word := range strings.FieldsFunc(b.Window, func(r rune) bool { return strings.ContainsRune(" ,;()", r) }) {
		if LastPart(word) == last && len(last) > 3 {
			return true
		}
	}
	if b.Sweep == nil {
		return false
	}
	return slices.ContainsFunc(b.Sweep.Windows(), func(w catalogue.Window) bool {
		return slices.ContainsFunc(w.Where, func(where string) bool {
			return LastPart(strings.Split(strings.TrimPrefix(where, "stmt:"), ":")[0]) == last
		})
	})
}

// LastPart is a function's name without its package and type.
func LastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// LinesText is where the reason stands, for people: "lines 3, 7".
func (r Reason) LinesText() string {
	if len(r.Lines) == 0 {
		return ""
	}
	parts := make([]string, len(r.Lines))
	for i, n := range slices.Sorted(slices.Values(r.Lines)) {
		parts[i] = strconv.Itoa(n)
	}
	if len(parts) == 1 {
		return "line " + parts[0]
	}
	return "lines " + strings.Join(parts, ", ")
}
