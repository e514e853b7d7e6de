package page

import (
	"fmt"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/catalogue/filing"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/wording"
)

// section is a part of a bug's page. Its text may have several lines.
type section struct{ label, text string }

// sections returns the parts of a bug's page, in the order in which people ask for them.
func sections(x catalogue.Bug) (all []section) {
	add := func(label, text string) {
		if text != "" {
			all = append(all, section{label, text})
		}
	}
	add("trigger", x.Trigger)
	add("symptoms", symptoms(x))
	add("workaround", x.Until)
	add("cause", x.Why)
	add("code", place(x))
	add("releases", catalogue.ReleasesText(x.Releases))
	add(severity, string(x.Severity))
	add("kind", fmt.Sprintf("%s: %s", x.Kind, x.Kind.Means()))
	add(upstream, threads(x, func(t catalogue.Thread) string { return t.Name }))
	add("evidence", evidence(x))
	add("attempts", x.Tried)
	add(findings, found(x))
	add("reproduce", commands(x))
	if id := filing.IssueOf(x.ID); id != "" {
		add("issue text", "`shimquake show --issue "+id+"`")
	} else if why := filing.WhyNone(x); why != "" {
		add("issue text", "none, because "+why)
	}
	return all
}

// The labels of sections that have links on a bug's page.
const (
	upstream = "upstream"
	findings = "findings"
	severity = "severity"
)

// place returns the place in containerd's code, with the release of its line numbers.
func place(x catalogue.Bug) string {
	bad, _ := ends(x.Releases)
	if x.Window == "" || bad == "" {
		return x.Window
	}
	return "in " + bad + ": " + x.Window
}

func symptoms(x catalogue.Bug) string {
	var lines []string
	s := x.Symptoms
	for _, re := range s.Log {
		lines = append(lines, "a log line that matches `"+re.String()+"`")
	}
	for _, key := range x.RarestKeys(shownKeys) {
		kind, format, _ := strings.Cut(key, " ")
		label := "containerd's log"
		if kind == "error" {
			label = "an error of containerd"
		}
		if strings.Contains(format, "%") {
			label += " (format string)"
		}
		lines = append(lines, label+": `"+format+"`")
	}
	for _, tool := range []struct {
		name  string
		shows []string
	}{{"ps", s.PS}, {"ctr", s.Ctr}, {"crictl", s.Crictl}, {"docker", s.Docker}, {"events", s.Events}} {
		for _, text := range tool.shows {
			lines = append(lines, tool.name+": "+text)
		}
	}
	return strings.Join(lines, "\n")
}

// shownKeys limits the log statements on a bug's page.
const shownKeys = 4

// found returns the findings of a run that shows the bug: in words, and as a verdict has
// them.
func found(x catalogue.Bug) string {
	if r := x.Residue; r != nil {
		return "a run passes with this finding: " + inWords(finding.Match{Class: r.Class, Facts: r.Match}) +
			"\nreason: " + r.Says
	}
	if len(x.Left) == 0 {
		return ""
	}
	var lines []string
	switch {
	case len(x.Left) == 1:
		lines = append(lines, "Shimquake reports this finding: "+inWords(x.Left[0]))
	case x.OneOf:
		lines = append(lines, "Shimquake reports at least one of these findings:")
	default:
		lines = append(lines, "Shimquake reports all of these findings:")
	}
	if len(x.Left) > 1 {
		for _, m := range x.Left {
			lines = append(lines, inWords(m))
		}
	}
	for _, m := range x.May {
		lines = append(lines, "in some runs also: "+inWords(m))
	}
	return strings.Join(lines, "\n")
}

// inWords returns a match in words, and its text form.
func inWords(m finding.Match) string { return wording.Match(m) + " (" + code(m) + ")" }

func code(m finding.Match) string { return "`" + m.String() + "`" }

// threads returns a bug's threads, with a name for each.
func threads(x catalogue.Bug, name func(catalogue.Thread) string) string {
	if len(x.Threads) == 0 {
		return "no issue known"
	}
	out := make([]string, len(x.Threads))
	for i, t := range x.Threads {
		out[i] = relation(x, t) + " " + name(t)
	}
	return strings.Join(out, ", ")
}

// relation returns the relation of a thread to the bug in words.
func relation(x catalogue.Bug, t catalogue.Thread) string {
	switch {
	case t.Word == "fix" && x.Releases.Open():
		return "a fix that no release has:"
	case t.Word == "compare" && strings.Contains(t.Name, "@"):
		return "a commit about a similar bug:"
	}
	return map[string]string{"issue": "this bug:", "fix": "fixed by", "compare": "a similar bug:"}[t.Word]
}

// evidence returns the kinds of evidence for a bug, and details on a line of their own.
func evidence(x catalogue.Bug) string {
	bad, _ := ends(x.Releases)
	var ways []string
	for _, w := range x.Verified.By {
		text := map[catalogue.Way]string{
			catalogue.Ran:      "observed in runs",
			catalogue.Read:     "the cause was checked in containerd's source",
			catalogue.Reported: "an upstream issue reports it",
		}[w]
		if o := x.Odds; w == catalogue.Ran && o.Runs > 0 && len(x.Cases) > 0 {
			text = fmt.Sprintf("%s runs of `%s` showed it on %s", o, x.Cases[0].Name, bad)
		}
		ways = append(ways, text)
	}
	text := strings.Join(ways, "; ")
	if x.Verified.How != "" {
		text += "\n" + x.Verified.How
	}
	return text
}

// ends returns the newest release that is known to have the bug, and the first one with
// the fix after it, or "".
func ends(r affected.Releases) (bad, fixed string) {
	for _, name := range r.Branches() {
		if b := r[name]; b.Has() {
			bad, fixed = b.Last(), b.Fixed
		} else if b.Fixed != "" {
			fixed = b.Fixed
		}
	}
	return bad, fixed
}

// commands returns commands that show the bug on its last release, and the fix on the
// first fixed one.
func commands(x catalogue.Bug) string {
	if len(x.Cases) == 0 {
		return ""
	}
	bad, fixed := ends(x.Releases)
	var lines []string
	for _, c := range x.Cases {
		lines = append(lines, fmt.Sprintf("`shimquake run --containerd %s %s`", bad, c.Name))
	}
	if fixed != "" {
		lines = append(lines, fmt.Sprintf("with the fix: `shimquake run --containerd %s %s`", fixed, x.Cases[0].Name))
	}
	return strings.Join(lines, "\n")
}
