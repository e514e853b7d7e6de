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

// sections are what there is to say of a bug, in the order in which people ask for it.
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
	add("until then", x.Until)
	add("why", x.Why)
	add("where", x.Window)
	add("upstream", threads(x.Threads))
	add("known by", known(x))
	add("tried", x.Tried)
	add("show it", commands(x))
	if filing.Has(x.ID) {
		add("file it", "`shimquake show --issue "+x.ID+"`")
	}
	return all
}

// Releases are the branches, those of one kind together: "affected: 1.6 (to v1.6.23),
// ...". Of what nobody has looked at it is said that it may.
func Releases(r affected.Releases) string {
	var has, not, unknown []string
	branches := r.Branches()
	if len(branches) > 0 && branches[0] != affected.Oldest {
		unknown = append(unknown, "before "+branches[0]+" (not looked at)")
	}
	for _, name := range branches {
		b := r[name]
		if b.Has() {
			has = append(has, fmt.Sprintf("%s (%s)", name, span(b)))
		}
		if b.Seen != "" {
			unknown = append(unknown, fmt.Sprintf("%s before %s (not looked at)", name, b.Seen))
		}
		if b.Unknown != "" {
			unknown = append(unknown, fmt.Sprintf("%s (%s)", name, b.Unknown))
		}
		if free := without(b); free != "" {
			not = append(not, fmt.Sprintf("%s (%s)", name, free))
		}
	}
	text := "affected: " + strings.Join(has, ", ")
	if len(not) > 0 {
		text += "\nnot affected: " + strings.Join(not, ", ")
	}
	if len(unknown) > 0 {
		text += "\nmay be affected: " + strings.Join(unknown, ", ")
	}
	if r.Open() {
		text += "\nnot fixed"
	}
	return text
}

// span says from which to which release a branch is known to have the bug.
func span(b affected.Branch) string {
	switch {
	case b.Since != "":
		return b.Since + " to " + b.Bad
	case b.Seen == b.Last():
		return "seen on " + b.Seen
	case b.Seen != "":
		return "seen on " + b.Seen + " to " + b.Bad
	}
	return "to " + b.Bad
}

// without says which releases of a branch do not have the bug, and how that is known.
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

// shownKeys is how many statements that a bug logs its page has.
const shownKeys = 4

// left are the facts, as a sweep and a verdict have them.
func left(x catalogue.Bug) string {
	if r := x.Residue; r != nil {
		return finding.Match{Class: r.Class, Facts: r.Match}.String() + "; it violates nothing: " + r.Says
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

func texts[T fmt.Stringer](all []T) []string {
	out := make([]string, len(all))
	for i, x := range all {
		out[i] = x.String()
	}
	return out
}

func threads(all []catalogue.Thread) string {
	if len(all) == 0 {
		return "no issue known"
	}
	return strings.Join(texts(all), ", ")
}

func known(x catalogue.Bug) string {
	var ways []string
	for _, w := range x.Verified.By {
		ways = append(ways, string(w))
	}
	text := strings.Join(ways, ", ")
	if x.Verified.How != "" {
		text += ": " + x.Verified.How
	}
	if o := x.Odds.String(); o != "" {
		text = "shown " + o + "; " + text
	}
	return text
}

// commands show the bug on the last release that has it, and the fix on the first that
// has it not.
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
