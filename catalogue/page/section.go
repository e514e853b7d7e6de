package page

import (
	"fmt"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/catalogue/filing"
	"github.com/shimquake/shimquake/oracle/affected"
	"github.com/shimquake/shimquake/oracle/finding"
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
	add("is", fmt.Sprintf("a %s of %s severity (%s)", x.Kind, x.Severity, x.Severity.Means()))
	add("releases", Releases(x.Releases))
	add("trigger", x.Trigger)
	add("you see", symptoms(x))
	add("left", left(x))
	add("workaround", x.Until)
	add("why", x.Why)
	add("where", x.Window)
	add("upstream", threads(x.Threads))
	add("known by", known(x))
	add("tried", x.Tried)
	add("show it", commands(x))
	if id := filing.IssueOf(x.ID); id != "" {
		add("file it", "`shimquake show --issue "+id+"`")
	}
	return all
}

// Releases returns the branches as text, with equal notes put together: "affected: 1.6,
// 1.7 (to v1.7.35)". A release that was not tested may be affected.
func Releases(r affected.Releases) string {
	var has, not, unknown notes
	branches := r.Branches()
	if len(branches) > 0 && branches[0] != affected.Oldest {
		unknown.add("before "+branches[0], untested)
	}
	for _, name := range branches {
		b := r[name]
		switch {
		case b.Seen != "" && b.Seen == b.Last():
			has.add(b.Seen, "seen")
		case b.Has():
			has.add(name, span(b))
		}
		if b.Seen != "" {
			unknown.add("before "+b.Seen, untested)
		}
		if b.Unknown != "" {
			unknown.add(name, b.Unknown)
		}
		if free := without(b); free != "" {
			not.add(name, free)
		}
	}
	text := "affected: " + has.String()
	if len(not) > 0 {
		text += "\nnot affected: " + not.String()
	}
	if len(unknown) > 0 {
		text += "\nmay be affected: " + unknown.String()
	}
	if r.Open() {
		text += "\nnot fixed"
	}
	return text
}

const untested = "not tested"

// notes has releases with a note each.
type notes [][2]string

func (n *notes) add(release, note string) { *n = append(*n, [2]string{release, note}) }

// String returns "A, B (NOTE), before C, D (OTHER)": neighbours with the same note share
// it.
func (n notes) String() string {
	const before = "before "
	var parts []string
	for i, x := range n {
		text := x[0]
		if i > 0 && n[i-1][1] == x[1] && strings.HasPrefix(n[i-1][0], before) {
			text = strings.TrimPrefix(text, before)
		}
		if i+1 == len(n) || n[i+1][1] != x[1] {
			text += " (" + x[1] + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// span returns the range of releases of a branch that are known to have the bug.
func span(b affected.Branch) string {
	switch {
	case b.Since != "":
		return b.Since + " to " + b.Bad
	case b.Seen != "":
		return "seen on " + b.Seen + " to " + b.Bad
	}
	return "to " + b.Bad
}

// without returns the releases of a branch that do not have the bug, with the evidence.
func without(b affected.Branch) string {
	var parts []string
	switch {
	case b.Since != "" && b.Held != "":
		parts = append(parts, "to "+b.Held)
	case b.Since != "":
		parts = append(parts, "before "+b.Since+": "+b.Absent)
	case b.Held != "":
		parts = append(parts, b.Held)
	case b.Absent != "":
		parts = append(parts, b.Absent)
	}
	if b.Fixed != "" {
		parts = append(parts, "from "+b.Fixed)
	}
	return strings.Join(parts, ", ")
}

func symptoms(x catalogue.Bug) string {
	var lines []string
	s := x.Symptoms
	for _, re := range s.Log {
		lines = append(lines, "log: `"+re.String()+"`")
	}
	for _, key := range x.Telling(shownKeys) {
		_, format, _ := strings.Cut(key, " ")
		lines = append(lines, "log: `"+format+"`")
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

// left returns the facts, in the words of a sweep and a verdict.
func left(x catalogue.Bug) string {
	if r := x.Residue; r != nil {
		return code(finding.Match{Class: r.Class, Facts: r.Match}) + ". It violates nothing: " + r.Says
	}
	word := "\n"
	if x.OneOf {
		word = ", or\n"
	}
	text := strings.Join(texts(x.Left), word)
	if len(x.May) > 0 {
		text += "\nand sometimes: " + strings.Join(texts(x.May), "; ")
	}
	return text
}

func texts(all []finding.Match) []string {
	out := make([]string, len(all))
	for i, x := range all {
		out[i] = code(x)
	}
	return out
}

func code(m finding.Match) string { return "`" + m.String() + "`" }

func threads(all []catalogue.Thread) string {
	if len(all) == 0 {
		return "no issue known"
	}
	out := make([]string, len(all))
	for i, x := range all {
		out[i] = x.String()
	}
	return strings.Join(out, ", ")
}

// known returns the ways in which a bug is known, and the runs on a line of their own.
func known(x catalogue.Bug) string {
	var ways []string
	for _, w := range x.Verified.By {
		ways = append(ways, string(w))
	}
	text := strings.Join(ways, ", ")
	if o := x.Odds.String(); o != "" {
		text = "shown " + o + "; " + text
	}
	if x.Verified.How != "" {
		text += "\n" + x.Verified.How
	}
	return text
}

// commands returns commands that show the bug on its last release, and the fix on the
// first fixed one.
func commands(x catalogue.Bug) string {
	if len(x.Cases) == 0 {
		return ""
	}
	bad, fixed := "", ""
	for _, name := range x.Releases.Branches() {
		if b := x.Releases[name]; b.Has() {
			bad, fixed = b.Last(), b.Fixed
		} else if b.Fixed != "" {
			fixed = b.Fixed
		}
	}
	var lines []string
	for _, c := range x.Cases {
		lines = append(lines, fmt.Sprintf("`shimquake run --containerd %s %s`", bad, c.Name))
	}
	if fixed != "" {
		lines = append(lines, fmt.Sprintf("`shimquake run --containerd %s %s` holds", fixed, x.Cases[0].Name))
	}
	return strings.Join(lines, "\n")
}
