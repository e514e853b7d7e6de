// Package rank compares a report with the bugs of the catalogue. It returns the bugs that
// explain the report, with the reason for each point. It is pure.
package rank

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/repro/read"
)

// Fit is the result of comparing a bug with a report.
type Fit struct {
	Bug     catalogue.Bug `json:"-"`
	ID      string        `json:"bug"`
	Score   int           `json:"score"`
	Reasons []Reason      `json:"reasons"`
	// Clears is set if the bug explains more than half of the symptoms and no reason
	// excludes it.
	Clears bool `json:"fits"`
}

// Reason is one point for or against a bug.
type Reason struct {
	Why Why `json:"why"`
	// The kind of the observation, and its lines.
	What  read.Kind `json:"what,omitempty"`
	Lines []int     `json:"lines,omitempty"`
	// Is is the evidence: a match, a pattern, a function, a release.
	Is string `json:"is,omitempty"`
	// Points is its part of the score.
	Points int `json:"points"`
}

// Why is a kind of reason.
type Why string

// whys has the points of the kinds of reasons, and the words for people, with the sign
// and the place of the evidence.
var whys = map[Why]struct {
	points int
	words  string
}{}

func reason(name Why, points int, words string) Why {
	whys[name] = struct {
		points int
		words  string
	}{points, words}
	return name
}

// The kinds of reasons.
var (
	Named    = reason("issue-named", 8, "+ the report names it: %s")
	Explains = reason("explains", 4, "+ matches the symptom: %s")
	Brings   = reason("brings", 1, "+ matches a consequence: %s")
	MayLeave = reason("may-leave", 1, "+ matches an occasional symptom: %s")
	// The rarer a message, the more it counts.
	Logs        = reason("logs", 0, "+ matches the log: %s")
	Needs       = reason("needs", 3, "+ matches the trigger: %s")
	Nearly      = reason("nearly-needs", 1, "+ similar to the trigger: %s")
	AtPlace     = reason("place", 3, "+ matches the function: %s")
	Unexplained = reason("does-not-explain", -3, "- does not explain the symptom: %s")
	Unneeded    = reason("does-not-need", -2, "- does not need the condition: %s")
	Unreported  = reason("not-reported", -1, "- needs a condition that the report does not mention: %s")
	// A process died that the bug does not need to die, and a needed condition is missing.
	Otherwise   = reason("set-off-by-other", -2, "- has another trigger, and does not need: %s")
	Conflicts   = reason("conflicts", -5, "- leaves the object in another state: %s")
	OtherOne    = reason("not-this-release", -100, "- that release is not affected (%s)")
	NotLooked   = reason("not-looked-at", -2, "- untested on that release (%s)")
	OtherClient = reason("other-client", -3, "- needs kubelet as the client, not %s")
	Unconfirmed = reason("unconfirmed", -2, "- is unconfirmed: only an injected error shows it%s")
	Harmless    = reason("residue", -3, "- is harmless%s")
)

// half is the limit for a message: a bug explains it only if it logs a larger part of it.
const half = 0.5

// bar is the lowest score of a bug that fits. It is the score of one symptom minus one
// unreported condition.
const bar = 3

// excluding are the reasons that exclude a bug.
var excluding = []Why{Conflicts, OtherOne}

// Rank compares a report with bugs, and returns the best first. Bugs that fit alike keep
// their order. If the release is "", it excludes no bug.
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

// met returns 0 for a bug that users reported and a release fixed, and 1 if there is no
// fix. It returns 2 for a bug that only faults have shown, and 3 for an unconfirmed bug.
func met(b catalogue.Bug) int {
	switch {
	case b.Kind == catalogue.Unconfirmed:
		return 3
	case !slices.Contains(b.Verified.By, catalogue.Reported):
		return 2
	case b.Releases.Open():
		return 1
	}
	return 0
}

// reports returns the number of public threads about a bug. A frequent bug is likelier.
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
	switch state := b.StateOf(release); {
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
	namespace := ok && r.Client == read.Ctr && c.Workload.API == "cri" // CRI ignores the namespace of ctr
	switch b.Kind {
	case catalogue.Unconfirmed:
		f.add(Unconfirmed, "", nil, "")
	case catalogue.Residue:
		f.add(Harmless, "", nil, "")
	}
	out := namespace || slices.ContainsFunc(f.Reasons, func(x Reason) bool { return slices.Contains(excluding, x.Why) })
	quotes := func(o read.Observation) bool { return o.Complains() && !o.Usual }
	if slices.ContainsFunc(r.BySort(read.Message), quotes) { // a message counts as much as a symptom
		total++
		if said {
			reported++
		}
	}
	if b.Kind == catalogue.Unconfirmed && !slices.ContainsFunc(f.Reasons, func(x Reason) bool { return x.Why == Named }) {
		out = true
	}
	f.Clears = !out && 2*reported > total && f.Score >= bar && !Elsewhere(r)
	return f
}

// Elsewhere reports whether a report is about trouble that does not concern shims, and no
// listing shows a leak. A zombie beside a process that the kernel blocks is no leak,
// because nothing can remove it.
func Elsewhere(r read.Report) bool {
	kernel := r.Has(read.KernelWait)
	return len(r.BySort(read.Elsewhere)) > 0 &&
		!slices.ContainsFunc(r.BySort(read.Symptom), func(o read.Observation) bool {
			return !o.Logged && (!kernel || o.What != read.Zombie)
		})
}

// Sure reports whether the report has more evidence for a bug than common symptoms: its
// message, or its issue.
func (f Fit) Sure() bool {
	return slices.ContainsFunc(f.Reasons, func(x Reason) bool { return x.Why == Logs || x.Why == Named })
}

func (f *Fit) add(why Why, what read.Kind, lines []int, is string) {
	f.reason(Reason{Why: why, What: what, Lines: lines, Is: is, Points: whys[why].points})
}

func (f *Fit) reason(r Reason) {
	f.Score += r.Points
	f.Reasons = append(f.Reasons, r)
}

// symptoms compares the reported symptoms with the remains of the bug.
func (f *Fit) symptoms(r read.Report, b catalogue.Bug, l logs) (explained, total int) {
	all, explained, total := leftBy(b, l).explain(r)
	for _, x := range all {
		x.Points = whys[x.Why].points
		if x.Why != Brings {
			x.Points += exact(b, x.of)
		}
		f.reason(x.Reason)
	}
	return explained, total
}

// exact returns 1 if the bug names an observed fact, and 2 if it names the observed
// code. The number of facts does not matter.
func exact(b catalogue.Bug, o read.Observation) (best int) {
	for _, m := range b.Left {
		if m.Class != o.Class() || !m.Facts.Agrees(o.Facts) {
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
	for _, o := range r.BySort(read.Thread) {
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
	for _, o := range r.BySort(read.Place) {
		if isIn(b, o.Text) {
			f.add(AtPlace, o.What, o.Lines, o.Text)
		}
	}
}

// isIn reports whether a bug's window contains a function. In a report its name may
// lack the type, and may have a package.
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

// LastPart returns a function's name without its package and type.
func LastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// String returns the reason for people, with its sign and its lines.
func (r Reason) String() string {
	what := r.What.Words()
	switch {
	case r.What == "":
		what = r.Is
	case r.Is != "":
		what = strings.TrimPrefix(what+" ["+quote.Cut(r.Is, 70)+"]", " ")
	}
	text := fmt.Sprintf(whys[r.Why].words, what)
	if lines := r.LinesText(); lines != "" {
		text += " (" + lines + ")"
	}
	return text
}

// LinesText returns the lines of the reason for people: "lines 3, 7".
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
