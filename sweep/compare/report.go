package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/rate"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// Report is the result of a comparison.
type Report struct {
	A string `json:"a"`
	B string `json:"b"`
	Difference
	// Planned is the number of cases of the plan. Ran is the number of cases that ran on
	// both sides. Sampled is the number of cases among them that are of the random share,
	// which Seed draws. Lost is the number of cases that are invalid on one side only.
	Planned int    `json:"planned"`
	Ran     int    `json:"ran"`
	Sampled int    `json:"sampled"`
	Seed    uint64 `json:"seed"`
	Lost    int    `json:"lost"`
	Rows    []Row  `json:"rows"`

	Plan plan.Plan `json:"-"`
}

// NewReport makes the report of a comparison's journal and its rows.
func NewReport(h journal.Head, rows []Row, results []journal.Result) Report {
	r := Report{A: h.Plan.Containerd, B: h.Other.Containerd, Planned: len(h.Plan.Specs), Ran: h.Done(results),
		Difference: Difference{h.Other.Functions, h.Other.Unwoven}, Sampled: h.Other.Sampled, Seed: h.Other.Seed,
		Rows: rows, Plan: h.Plan}
	for i, of := range (Comparison{A: r.A, B: r.B}).runsOf(results) {
		if i < h.Other.Shared && len(of.a) > 0 && len(of.b) > 0 &&
			(of.a[0].Outcome == harness.Invalid) != (of.b[0].Outcome == harness.Invalid) {
			r.Lost++
		}
	}
	return r
}

// Count returns the number of rows of a kind.
func (r Report) Count(k Kind) int {
	rows, more := r.first(k)
	return len(rows) + more
}

// Status is 1 if B opens something, 3 if something is not sure, and else 0.
func (r Report) Status() int {
	switch {
	case r.Count(Opened)+r.Count(Changed) > 0:
		return 1
	case r.Count(Unsure) > 0:
		return 3
	}
	return 0
}

// missed is the confidence of the rate that a single run would have shown.
const missed = 0.95

// Summary is the result in a line.
func (r Report) Summary() string {
	return fmt.Sprintf("%d opened, %d closed, %d changed, %d same, %d not sure", r.Count(Opened), r.Count(Closed),
		r.Count(Changed), r.Count(Same), r.Count(Unsure))
}

// Lines describes what was compared.
func (r Report) Lines() []string {
	all := []string{
		r.Difference.String(),
		fmt.Sprintf("%d of %d planned cases ran on both, %d of them of the random share, seed %d", r.Ran, r.Planned,
			r.Sampled, r.Seed),
		fmt.Sprintf("what held on both sides in one run of one case may show in up to %.0f %% of its runs", 100*missed),
	}
	if r.Lost > 0 {
		all = append(all, fmt.Sprintf("%d cases are invalid on one side only, and not compared", r.Lost))
	}
	return all
}

// Sentence returns the first finding, the effect and the place of a row.
func (r Row) Sentence() string {
	text := fmt.Sprintf("%s: when %s at %s", r.Left[0], r.When, r.Place)
	if r.OnlyB {
		text += ", at a point that only B has"
	}
	return text
}

// counts describes the runs of a row.
func (r Row) counts() string {
	var a, b rate.Odds
	for _, k := range r.Cases {
		a.Shown, a.Runs = a.Shown+k.A.Shown, a.Runs+k.A.Runs
		b.Shown, b.Runs = b.Shown+k.B.Shown, b.Runs+k.B.Runs
	}
	cases := "1 case"
	if n := len(r.Cases); n != 1 {
		cases = fmt.Sprintf("%d cases", n)
	}
	return fmt.Sprintf("%s; A %s, B %s runs", cases, a, b)
}

// maxRows is the number of rows of a kind in the text form, and in Markdown.
const maxRows = 30

// first returns the first rows of a kind, and the number of its other rows.
func (r Report) first(kind Kind) (rows []Row, more int) {
	rows = slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return row.Kind != kind })
	more = max(len(rows)-maxRows, 0)
	return rows[:len(rows)-more], more
}

// String returns the result for a terminal.
func (r Report) String() string {
	var b quote.Text
	b.Line("A: containerd %s", r.A)
	b.Line("B: containerd %s", r.B)
	for _, line := range r.Lines() {
		b.Line("%s", line)
	}
	for _, kind := range Kinds {
		rows, more := r.first(kind)
		for _, row := range rows {
			b.Line("")
			b.Line("%s: %s", strings.ToUpper(string(kind)), row.Sentence())
			for _, s := range row.Left {
				b.Line("    left:  %s", s)
			}
			b.Line("    runs:  %s%s", row.counts(), row.needs())
			b.Line("    case:  %s", r.Plan.Specs[row.Cases[0].Spec])
		}
		if more > 0 {
			b.Line("    and %d rows more", more)
		}
	}
	b.Line("")
	b.Line("%s", r.Summary())
	return b.String()
}

func (r Row) needs() string {
	if r.Kind != Unsure {
		return ""
	}
	return fmt.Sprintf("; %d more held runs of a case would decide", r.Needed)
}

// Markdown returns the result as the comment of a pull request.
func (r Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### shimquake compare: %s\n\nA is containerd %s, B is containerd %s.\n\n", r.Summary(),
		quote.Markdown(r.A), quote.Markdown(r.B))
	b.WriteString("| | finding | when | at | cases | A | B |\n|---|---|---|---|---|---|---|\n")
	for _, kind := range Kinds {
		rows, more := r.first(kind)
		for _, row := range rows {
			k := row.Cases[0]
			fmt.Fprintf(&b, "| **%s** | %s | %s | `%s` | %d | %s | %s |\n", kind, quote.Markdown(row.Left[0].String()),
				row.When, row.Place, len(row.Cases), k.A, k.B)
		}
		if more > 0 {
			fmt.Fprintf(&b, "| **%s** | and %d rows more | | | | | |\n", kind, more)
		}
	}
	b.WriteString("\n")
	for _, line := range r.Lines() {
		fmt.Fprintf(&b, "- %s\n", quote.Markdown(line))
	}
	return b.String()
}
