// Package report writes reports about histories, verdicts and clusters. The forms are
// one HTML file that opens offline, a trace, JUnit's XML, a summary in Markdown, and
// results.jsonl. It runs nothing.
package report

import (
	"iter"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
)

// Data is the content of a report.
type Data struct {
	// Title names the run: "sweep of containerd v2.4.2".
	Title string
	// Command repeats the run.
	Command string
	Made    time.Time
	// Evidence is the folder of the cases' evidence, if it is not in the report's folder.
	Evidence string
	// Answers are the results of a question, the most important first.
	Answers []Answer
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
	// Cases are all cases. An error ends the report.
	Cases iter.Seq2[Case, error]
	// Without are the verdicts of workloads that ran without a fault, by the name in
	// Case.Without.
	Without map[string]harness.Verdict
}

// Answer is a headline with details.
type Answer struct {
	Head string `json:"head"`
	Rows []Row  `json:"rows,omitempty"`
}

// Row is a named line in Answer.Rows.
type Row struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Grid is a table of expected and actual results, with one row for each bug.
type Grid struct {
	Columns []string  `json:"columns"` // releases
	Rows    []GridRow `json:"rows"`
}

// GridRow is a bug on each release.
type GridRow struct {
	Name  string     `json:"name"`
	Title string     `json:"title,omitempty"`
	Cells []GridCell `json:"cells"` // one a column
}

// GridCell is a bug on a release. A cell that did not run has neither Expected nor Seen.
type GridCell struct {
	Expected string `json:"expected,omitempty"`
	Seen     string `json:"seen,omitempty"`
	// Shown is the number of Runs with the bug.
	Shown int `json:"shown"`
	Runs  int `json:"runs"`
	// Differs is set if the result is not the expected one. Nothing is set if the run
	// shows nothing.
	Differs bool `json:"differs,omitempty"`
	Nothing bool `json:"nothing,omitempty"`
	// Outcome is the outcome of a run with that result. Cases are the ids of all runs.
	Outcome harness.Outcome `json:"outcome,omitempty"`
	Cases   []string        `json:"cases,omitempty"`
}

// Case is one case of a report.
type Case struct {
	// ID is its unique name in the report: case-17.
	ID      string
	Verdict harness.Verdict
	// Workload and Fault describe the case in a few words.
	Workload string
	Fault    string
	// The known bugs that it shows, one on each line.
	Whose []string
	// Replay is the command that runs it again.
	Replay string
	// Without is the name of its run without a fault in Data, or "" if there is none.
	Without string
}

// State is the state of a cluster.
type State string

// The states, the most important first.
const (
	New          State = "new"            // nothing known explains it
	More         State = "more"           // known, and in more cases than are known
	Gone         State = "gone"           // known, and not found any more
	Unreproduced State = "not-reproduced" // new, and it does not come again
	Known        State = "known"
)

// Cluster is a group of cases with the same cause.
type Cluster struct {
	ID string
	// Key identifies it across reports, because its ID may change. Default: its ID.
	Key   string
	State State
	Title string
	// Severity is the severity of its known bug, in the catalogue's words, or "".
	Severity catalogue.Severity `json:",omitempty"`
	// Says are lines about its findings, their place and their number.
	Says []string
	// Cases are the ids of its cases, the simplest first.
	Cases []string
	// Replay is the command that shows it.
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
