// Package report writes reports about histories, verdicts and clusters. The forms are
// one HTML file that opens offline, JUnit's XML, a summary in Markdown, and
// results.jsonl. It runs nothing.
package report

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/quote"
)

// Data is the content of a report.
type Data struct {
	// Title names the run: "sweep of containerd v2.4.2".
	Title string
	// Command is the command that repeats the run.
	Command string
	Made    time.Time
	// Evidence is the folder of the cases' evidence, if it is not in the report's folder.
	Evidence string
	// Answers has the results of a command that answers a question, the most important
	// first.
	Answers []Part
	// Says are sentences about the whole run, such as the number of cases that did not run.
	Says []string
	// Lacks is why the run is incomplete, such as planned cases that did not run, or "".
	// Each form of the report shows it.
	Lacks string
	// Grid is the table of a matrix: the expected and the actual results on several
	// releases. It is nil for other runs.
	Grid *Grid
	// Clusters group the cases of a sweep by cause, the most important first.
	Clusters []Cluster
	// Cases has all cases. If it yields an error, writing the report fails.
	Cases iter.Seq2[Case, error]
	// Without has the verdicts of workloads that ran without a fault, by the name in
	// Case.Without.
	Without map[string]harness.Verdict
}

// Part is a headline with details.
type Part struct {
	Head string `json:"head"`
	Rows []Row  `json:"rows,omitempty"`
	// Text is a case in YAML, which only a terminal shows.
	Text string `json:"-"`
}

// Row is a line in Part.Rows, with a name.
type Row struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Add adds a row.
func (p *Part) Add(name, text string) { p.Rows = append(p.Rows, Row{name, text}) }

// String returns the part for a terminal.
func (p Part) String() string {
	var b quote.Text
	b.Line("%s", p.Head)
	for _, r := range p.Rows {
		if r.Name == "" {
			b.Line("  %s", r.Text)
			continue
		}
		b.Block(fmt.Sprintf("  %-11s ", r.Name), r.Text)
	}
	if p.Text != "" {
		b.Line("")
		b.Block("", strings.TrimSpace(p.Text))
		b.Line("")
	}
	return b.String()
}

// Grid is a table of expected and actual results, with one row for each bug. Compares is
// set if it has a row for each finding, and a column for each of two containerds.
type Grid struct {
	Compares bool      `json:"compares,omitempty"`
	Columns  []string  `json:"columns"` // releases
	Rows     []GridRow `json:"rows"`
}

// GridRow is a bug on each release.
type GridRow struct {
	Name  string     `json:"name"`
	Title string     `json:"title,omitempty"`
	Cells []GridCell `json:"cells"` // one for each column
}

// GridCell is a bug on a release. A cell that did not run has neither Expected nor Seen.
type GridCell struct {
	Expected string `json:"expected,omitempty"`
	Seen     string `json:"seen,omitempty"`
	// Shown is the number of Runs with the bug.
	Shown int `json:"shown"`
	Runs  int `json:"runs"`
	// Differs is set if the result is not the expected one. Nothing is set if the run has
	// no result.
	Differs bool `json:"differs,omitempty"`
	Nothing bool `json:"nothing,omitempty"`
	// Outcome is the outcome that a run with the result Seen has. Cases has the ids of
	// all runs.
	Outcome harness.Outcome `json:"outcome,omitempty"`
	Cases   []string        `json:"cases,omitempty"`
}

// Case is one case of a report.
type Case struct {
	// ID is the case's unique name in the report: case-17.
	ID      string
	Verdict harness.Verdict
	// Workload and Fault describe the case in a few words.
	Workload string
	Fault    string
	// The known bugs that the case shows, one on each line.
	Whose []string
	// Replay is the command that runs the case again.
	Replay string
	// Without is the key in Data.Without of the run without a fault, or "" if there is
	// none.
	Without string
}

// State is the state of a cluster.
type State string

// The states, the most important first.
const (
	New          State = "new"            // no known bug explains it.
	More         State = "more"           // a known bug, in more cases than expected.
	Gone         State = "gone"           // a known bug that its case no longer shows.
	Unreproduced State = "not-reproduced" // new, but no replay showed it again.
	Known        State = "known"
)

// Cluster is a group of cases with the same cause.
type Cluster struct {
	ID string
	// Key identifies the cluster in other reports, where its ID may differ. Default: its
	// ID.
	Key   string
	State State
	Title string
	// Severity is the catalogue's severity of the known bug, or "".
	Severity catalogue.Severity `json:",omitempty"`
	// Says has lines about its findings, and about their places and their number.
	Says []string
	// Cases are the ids of its cases, the simplest first.
	Cases []string
	// Replay is the command that runs a case of the cluster.
	Replay string
}

// All returns cases in the form that Data needs.
func All(cases []Case) iter.Seq2[Case, error] {
	return func(yield func(Case, error) bool) {
		for _, c := range cases {
			if !yield(c, nil) {
				return
			}
		}
	}
}
