package matrix

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/quote"
)

// Table is the result of a matrix.
type Table struct {
	Bugs     []catalogue.Bug
	Releases []string
	// Of has the releases for each bug, if they differ from bug to bug.
	Of    map[string][]string
	Cells map[Key]Cell
	// Kept counts the cells of an earlier run.
	Kept int
}

// Status returns the exit status. It is 1 if a cell differs from the catalogue. It is 3
// if a cell is invalid, or if no release has the point of a bug.
func (t Table) Status() int {
	status := 0
	for _, c := range t.Cells {
		switch {
		case c.Differs():
			return 1
		case c.Seen == Invalid:
			status = 3
		}
	}
	for _, b := range t.Bugs {
		if len(b.Cases) > 0 && !t.ran(b.ID) {
			status = 3
		}
	}
	return status
}

// ran reports whether any release has the point of a bug's fault.
func (t Table) ran(bug string) bool {
	for key, c := range t.Cells {
		if key.Bug == bug && c.Seen != NoPoint {
			return true
		}
	}
	return false
}

// word returns the text of a cell in the table: the expectation and the result. The
// result is in capitals if it differs.
func (c Cell) word() string {
	seen := string(c.Seen)
	switch {
	case c.Seen == NoPoint && !c.Differs():
		return seen
	case c.Seen == NoPoint:
		seen = "nopoint"
	case c.Seen == Shown && c.Shown < c.Runs:
		seen = fmt.Sprintf("shown %d/%d", c.Shown, c.Runs)
	}
	if c.Differs() || c.Seen == Invalid {
		seen = strings.ToUpper(seen)
	}
	return string(c.Expect) + ", " + seen
}

// width is the width of the text form, in characters.
const width = 100

// String returns the table for a terminal. Releases that do not fit into the width come
// in another table below.
func (t Table) String() string {
	var b quote.Text
	name := 3
	for _, x := range t.Bugs {
		name = max(name, len(x.ID))
	}
	if t.Of != nil {
		t.writeOwn(&b, name)
		t.summary(&b)
		return b.String()
	}
	for part := range slices.Chunk(t.Releases, max((width-name)/(column+1), 1)) {
		row := fmt.Sprintf("%-*s", name, "bug")
		for _, r := range part {
			row += fmt.Sprintf(" %-*s", column, r)
		}
		b.Line("%s", row)
		for _, x := range t.Bugs {
			row := fmt.Sprintf("%-*s", name, x.ID)
			for _, r := range part {
				row += fmt.Sprintf(" %-*s", column, fit(t.word(x, r), column))
			}
			b.Line("%s", row)
		}
		b.Line("")
	}
	t.summary(&b)
	return b.String()
}

const column = 12 // "bad, INVALID"

// writeOwn writes a line for each bug, with its releases and their results.
func (t Table) writeOwn(b *quote.Text, name int) {
	const release = 8 // "v1.7.35 "
	for _, x := range t.Bugs {
		head := x.ID
		for part := range slices.Chunk(t.Of[x.ID], max((width-name)/(column+release+1), 1)) {
			row := fmt.Sprintf("%-*s", name, head)
			for _, r := range part {
				row += fmt.Sprintf(" %-*s%-*s", release, r, column, fit(t.word(x, r), column))
			}
			b.Line("%s", row)
			head = ""
		}
	}
	b.Line("")
}

func fit(text string, n int) string {
	if utf8.RuneCountInString(text) > n {
		text = strings.Replace(text, "shown ", "", 1)
	}
	return text
}

func (t Table) word(b catalogue.Bug, release string) string {
	c, ok := t.Cells[Key{b.ID, release}]
	switch {
	case len(b.Cases) == 0:
		return "no case"
	case !ok:
		return "not run"
	}
	return c.word()
}

// summary writes the counts, and explains the differences.
func (t Table) summary(b *quote.Text) {
	n := map[string]int{}
	var took time.Duration
	t.Each(func(c Cell) {
		took += c.Took
		switch {
		case c.Differs():
			n["differ"]++
			b.Line("DIFFERS: %s", c)
			indent(b, c.Why, c.Evidence)
		case c.Seen == Invalid:
			n["invalid"]++
			b.Line("INVALID: %s", c)
			indent(b, c.Why, c.Evidence)
		case c.IsNew():
			n["news"]++
			b.Line("NOT KNOWN: %s", c)
			indent(b, c.Why)
		case c.Seen == NoPoint:
			n["none"]++
		default:
			n["as"]++
		}
	})
	counts := fmt.Sprintf("%d cells are as expected, %d differ, %d are invalid, %d have no such point", n["as"],
		n["differ"], n["invalid"], n["none"])
	if n["news"] > 0 {
		b.Line("%s,", counts)
		counts = fmt.Sprintf("%d are missing in the catalogue: add them (docs/add-a-bug.md)", n["news"])
	}
	if t.Kept > 0 {
		counts += fmt.Sprintf("; %d of them come from an earlier run", t.Kept)
	}
	b.Line("%s", counts)
	b.Line("the cases took %s in sum", took.Round(time.Second))
}

func indent(b *quote.Text, texts ...string) {
	for _, text := range texts {
		for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
			if line != "" {
				b.Line("  %s", line)
			}
		}
	}
}

// Each visits the cells bug by bug.
func (t Table) Each(visit func(Cell)) {
	for _, b := range t.Bugs {
		for _, r := range t.Releases {
			if c, ok := t.Cells[Key{b.ID, r}]; ok {
				visit(c)
			}
		}
	}
}

// Markdown returns the page docs/bugs/matrix.md.
func (t Table) Markdown(day time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Bugs and releases\n\nThe results of `shimquake matrix --markdown` on %s. A cell has the "+
		"expectation of the catalogue and the result: *bad* has the bug,\n*ok* does not have it, *?* is unknown; "+
		"\"-\" is a release that lacks the point of the fault.\nDifferences are in capitals.\n\n",
		day.Format(time.DateOnly))
	heads := make([]string, len(t.Releases))
	for i, r := range t.Releases {
		heads[i] = quote.Markdown(r)
	}
	fmt.Fprintf(&b, "| bug | %s |\n|---|%s\n", strings.Join(heads, " | "), strings.Repeat("---|", len(t.Releases)))
	for _, x := range t.Bugs {
		fmt.Fprintf(&b, "| [`%s`](%s.md) |", x.ID, x.ID)
		for _, r := range t.Releases {
			fmt.Fprintf(&b, " %s |", t.word(x, r))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// JSON writes each cell on a line.
func (t Table) JSON(out io.Writer) (err error) {
	enc := json.NewEncoder(out)
	t.Each(func(c Cell) {
		if err == nil {
			err = enc.Encode(c)
		}
	})
	return err
}
