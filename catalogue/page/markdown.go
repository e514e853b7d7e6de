package page

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
)

// Dir is the folder of the pages, below the root of the checkout.
const Dir = "docs/bugs"

// first is the number of bugs in the tables of README and of the index's first screen.
const first = 5

// Markdown returns a bug's page.
func Markdown(x catalogue.Bug) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n`%s` (made by `make docs` from [its file](../../catalogue/bugs/%s.yaml))\n\n",
		x.Title, x.ID, x.ID)
	for _, s := range sections(x) {
		text := s.text
		switch s.label {
		case upstream:
			text = threads(x, func(t catalogue.Thread) string { return fmt.Sprintf("[%s](%s)", t.Name, t.URL()) })
		case severity:
			text = fmt.Sprintf("[%s](README.md#severities)", text)
		case findings:
			text = linkFindings.ReplaceAllString(text, "[$0](../reference.md#facts)")
		}
		lines := strings.Split(text, "\n")
		if len(lines) == 1 {
			fmt.Fprintf(&b, "- **%s**: %s\n", s.label, text)
			continue
		}
		fmt.Fprintf(&b, "- **%s**:\n", s.label)
		for _, line := range lines {
			fmt.Fprintf(&b, "  - %s\n", line)
		}
	}
	return b.String()
}

// linkFindings matches the word before the list of findings, for a link to their facts.
var linkFindings = regexp.MustCompile(`\bfindings?\b`)

// Index returns the page that lists all bugs, the worst first.
func Index(bugs []catalogue.Bug) string {
	var b strings.Builder
	b.WriteString("# Bugs of containerd's shim lifecycle\n\nMade by `make docs` from `catalogue/bugs/`. " +
		"[matrix.md](matrix.md) has the results of runs on each release.\n\n" +
		"## The five that matter most\n\n")
	b.WriteString(Table(bugs[:min(first, len(bugs))], ""))
	b.WriteString("\n## Kinds\n\n| kind | meaning |\n|---|---|\n")
	for _, k := range catalogue.Kinds {
		fmt.Fprintf(&b, "| %s | %s |\n", k, k.Means())
	}
	b.WriteString("\n## Severities\n\n| severity | meaning |\n|---|---|\n")
	for _, s := range catalogue.Severities {
		fmt.Fprintf(&b, "| %s | %s |\n", s, s.Means())
	}
	var last catalogue.Severity
	for _, x := range bugs {
		if x.Severity != last {
			last = x.Severity
			fmt.Fprintf(&b, "\n## %s\n\n| bug | what you see | kind | releases | shown in runs |\n|---|---|---|---|---|\n",
				strings.ToUpper(string(last[:1]))+string(last[1:]))
		}
		fmt.Fprintf(&b, "| [`%s`](%s.md) | %s | %s | %s | %s |\n", x.ID, x.ID, x.Title, x.Kind, short(x), shown(x))
	}
	return b.String()
}

// Table returns the table of README and of the index's first screen. The links of its
// bugs begin with prefix.
func Table(bugs []catalogue.Bug, prefix string) string {
	var b strings.Builder
	b.WriteString("| bug | trigger | releases |\n|---|---|---|\n")
	for _, x := range bugs {
		fmt.Fprintf(&b, "| [%s](%s%s.md) | %s | %s |\n", x.Title, prefix, x.ID, x.Trigger, short(x))
	}
	return b.String()
}

// short returns the range of releases with a bug: "1.6 to v2.3.7, fixed in v2.4.0".
func short(x catalogue.Bug) string {
	var from, to, fixed string
	for _, name := range x.Releases.Branches() {
		b := x.Releases[name]
		if b.Has() && from == "" {
			from = name
		}
		if b.Has() {
			to = b.Last()
		}
		if b.Fixed != "" {
			fixed = b.Fixed
		}
	}
	if from == "" {
		return "not known"
	}
	if x.Releases.Open() {
		return from + " to " + to + ", not fixed"
	}
	if fixed == "" {
		return from + " to " + to
	}
	return from + " to " + to + ", fixed in " + fixed
}

// shown returns the share of runs that show a bug: "19 of 20".
func shown(x catalogue.Bug) string {
	if len(x.Cases) == 0 {
		return "no case"
	}
	return x.Odds.String()
}

// Begin and End are the lines around README's table.
const (
	Begin = "<!-- bugs: made by make docs -->"
	End   = "<!-- end of bugs -->"
)

// Readme returns README's text with a new table of bugs. It returns an error if the text
// has no place for the table.
func Readme(old string, bugs []catalogue.Bug) (string, error) {
	before, rest, ok := strings.Cut(old, Begin+"\n")
	_, after, end := strings.Cut(rest, End)
	if !ok || !end {
		return "", fmt.Errorf("README has no place for the table of bugs: add the lines %q and %q", Begin, End)
	}
	return before + Begin + "\n" + Table(bugs[:min(first, len(bugs))], Dir+"/") + End + after, nil
}
