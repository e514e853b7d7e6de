package harness

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/wording"
	"github.com/shimquake/shimquake/quote"
)

// String describes the verdict in a few lines, for people.
func (v Verdict) String() string {
	var b quote.Text
	releases := strings.Join(append([]string{v.Version}, v.ReplacedBy...), ", then ")
	b.Line("%-8s %s on containerd %s in %s", v.Outcome, v.Name, releases, v.Took.Round(time.Millisecond))
	if why := v.ProblemsText(); why != "" {
		b.Block("  why:   ", why)
	}
	if v.HasProblem(ByEnd) && v.History != nil {
		b.Line("  came:  %s", stageWords[v.History.Reached])
	}
	if v.History != nil && v.History.Again != "" {
		b.Block("  again: ", "run again, because an earlier run was invalid: "+v.History.Again)
	}
	for _, f := range v.Firings {
		b.Line("  fault: %s: %s", f.Text, f.Proof)
	}
	for _, f := range v.Findings {
		head := "found"
		if !f.Violates() { // a residue, or a note
			head = "known"
		}
		b.Line("  %s: %s", head, wording.Of(f))
	}
	for _, t := range v.Truths {
		b.Line("  exit:  %s ended with %d (%s); reported: %s", t.Of(), t.Status, t.Source,
			cmp.Or(v.ReportedOf(t), "by no observer"))
	}
	for _, id := range v.NeverBegan {
		b.Line("  exit:  the payload of %s never began", id)
	}
	text := ShortIDs(b.String())
	if v.Evidence != "" {
		text += "  kept:  " + quote.Line(v.Evidence) + "\n"
	}
	return text
}

// stageWords continue the line "came:" of an interrupted run: how far it came.
var stageWords = map[Stage]string{
	NotBegun:  "not to a containerd",
	Prepared:  "to the start of containerd, which had not responded yet",
	Booted:    "to a containerd that responds",
	Underway:  "to the workload, which had not ended",
	Removed:   "to the end of the workload; it took no inventory",
	Inspected: "to the inventory; it did not use the first id again",
	Completed: "to the end",
}

// longID matches an id that CRI generated, or the hashed name of a socket. The first 12
// of its 64 digits are enough for people. The JSON form and the evidence have all of
// them.
var longID = regexp.MustCompile(`\b([0-9a-f]{12})[0-9a-f]{52}\b`)

// ShortIDs cuts ids of 64 digits to their first 12, for people.
func ShortIDs(text string) string { return longID.ReplaceAllString(text, "$1") }

// ReportedOf lists what containerd reported as the exit status of t, without repetitions,
// such as "wait 7, TaskExit 7".
func (v Verdict) ReportedOf(t exit.Truth) string {
	var parts []string
	for _, o := range v.Reported {
		text := fmt.Sprintf("%s %d", o.Observer, o.Status)
		if o.Container == t.Container && o.Exec == t.Exec && !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", ")
}
