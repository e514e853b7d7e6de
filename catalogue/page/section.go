package page

import (
	"fmt"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/oracle"
	"github.com/shimquake/shimquake/oracle/affected"
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
	add("you see", symptoms(x.Symptoms))
	add("left", left(x))
	add("until then", x.Until)
	add("why", x.Why)
	add("where", x.Window)
	add("upstream", threads(x.Threads))
	add("known by", known(x))
	add("tried", x.Tried)
	add("show it", commands(x))
	return all
}

// Releases are the branches, those of one kind together: "has it: 1.6 (to v1.6.23), ...".
func Releases(r affected.Releases) string {
	var has, not []string
	for _, name := range r.Branches() {
		b := r[name]
		switch {
		case b.Has():
			has = append(has, fmt.Sprintf("%s (%s)", name, span(b)))
			if b.Fixed != "" {
				not = append(not, fmt.Sprintf("%s (from %s)", name, b.Fixed))
			}
		case b.Fixed != "":
			not = append(not, fmt.Sprintf("%s (from %s)", name, b.Fixed))
		case b.Held != "":
			not = append(not, fmt.Sprintf("%s (%s)", name, b.Held))
		default:
			not = append(not, fmt.Sprintf("%s (%s)", name, b.Absent))
		}
	}
	text := "have it: " + strings.Join(has, ", ")
	if len(not) > 0 {
		text += "\nhave it not: " + strings.Join(not, ", ")
	}
	if r.Open() {
		text += "\nnot fixed"
	}
	return text
}

// span says from which to which release a branch has the bug.
func span(b affected.Branch) string {
	switch b.Since {
	case "":
		return "to " + b.Bad
	case b.Bad:
		return "seen on " + b.Bad
	}
	return b.Since + " to " + b.Bad
}

func symptoms(s catalogue.Symptoms) string {
	var lines []string
	for _, re := range s.Log {
		lines = append(lines, "log: `"+re.String()+"`")
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

// left are the facts, as a sweep and a verdict have them.
func left(x catalogue.Bug) string {
	if r := x.Residue; r != nil {
		return oracle.Match{Class: r.Class, Facts: r.Match}.String() + "; it violates nothing: " + r.Says
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
			bad, fixed = b.Bad, b.Fixed
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
