package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/quote"
)

// SummaryFile is the name of the summary in Markdown. GitHub shows it if a job appends it
// to $GITHUB_STEP_SUMMARY.
const SummaryFile = "summary.md"

// maxSummed limits the rows of a table in the summary, because GitHub accepts at most 1
// MiB.
const maxSummed = 30

// summary collects the rows of violated and invalid cases.
type summary struct {
	rows [][]string
	more int
}

func (s *summary) add(c Case) {
	if c.Verdict.Outcome == harness.Held {
		return
	}
	if len(s.rows) == maxSummed {
		s.more++
		return
	}
	s.rows = append(s.rows, []string{string(c.Verdict.Outcome), c.Verdict.Name, Reason(c.Verdict)})
}

func (s *summary) write(w io.Writer, d Data, n map[harness.Outcome]int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n**%d violated**, %d held, %d invalid\n\n", quote.Markdown(d.Title), n[harness.Violated],
		n[harness.Held], n[harness.Invalid])
	if d.Lacks != "" {
		fmt.Fprintf(&b, "**CUT OFF: %s**\n\n", quote.Markdown(d.Lacks))
	}
	for _, a := range d.Answers {
		fmt.Fprintf(&b, "**%s**\n\n", quote.Markdown(a.Head))
		for _, r := range a.Rows {
			fmt.Fprintf(&b, "- %s\n", quote.Markdown(strings.TrimSpace(r.Name+" "+r.Text)))
		}
		b.WriteString("\n")
	}
	for _, line := range d.Says {
		fmt.Fprintf(&b, "%s\n\n", quote.Markdown(line))
	}
	if len(d.Clusters) > 0 {
		s.clusters(&b, d)
	} else if len(s.rows) > 0 {
		table(&b, []string{"verdict", "case", "why"}, s.rows)
		if s.more > 0 {
			fmt.Fprintf(&b, "and %d more: see %s\n", s.more, HTMLFile)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *summary) clusters(b *strings.Builder, d Data) {
	var fresh, known [][]string
	for _, c := range d.Clusters {
		row := []string{string(c.State), c.Title, c.ID, fmt.Sprint(len(c.Cases))}
		if c.State == Known {
			known = append(known, row)
		} else {
			fresh = append(fresh, row)
		}
	}
	head := []string{"", "what", "cluster", "cases"}
	switch {
	case len(fresh) > 0:
		table(b, head, fresh[:min(len(fresh), maxSummed)])
	case len(d.Answers) > 0: // d.Answers replaces the list of new findings
	case d.Lacks == "":
		b.WriteString("Nothing is new.\n\n")
	default:
		b.WriteString("Nothing is new in the cases that have run.\n\n")
	}
	if len(known) > 0 {
		fmt.Fprintf(b, "<details><summary>%d known findings</summary>\n\n", len(known))
		table(b, head, known[:min(len(known), maxSummed)])
		b.WriteString("</details>\n")
	}
}

func table(b *strings.Builder, head []string, rows [][]string) {
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat(" --- |", len(head)))
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, text := range r {
			cells[i] = quote.Markdown(text)
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
	b.WriteByte('\n')
}
