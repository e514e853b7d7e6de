// Package report makes of histories, verdicts and clusters what people and other programs
// read: one HTML file that opens offline, a trace, JUnit's XML, a summary in Markdown,
// and results.jsonl. It runs nothing.
package report

import (
	"iter"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
)

// Data is what a report is made of.
type Data struct {
	// Title is what was done: "sweep of containerd v2.4.2".
	Title string
	// Command does it again.
	Command string
	Made    time.Time
	// Evidence is the folder of the evidence of these cases, if it is not in the report's.
	Evidence string
	// Answers are what was asked for, where a question was: what matters most comes first.
	Answers []Answer
	// Says are sentences about the whole, for what no case says: cases that were not run.
	Says []string
	// Lacks says why the whole shows less than it should: cases that were planned and have
	// not run. No form of the report passes over it. "": nothing is lacking.
	Lacks string
	// Grid is what was asked of several releases, and what they showed, where that was
	// asked.
	Grid *Grid
	// Clusters are what cases have in common, what matters most first; none of a few cases.
	Clusters []Cluster
	// Cases are all of them. An error ends the report.
	Cases iter.Seq2[Case, error]
	// Without are the verdicts of workloads that ran without a fault, by a name that Case
	// has.
	Without map[string]harness.Verdict
}

// Answer is what was found out, and what belongs to that.
type Answer struct {
	Head string `json:"head"`
	Rows []Row  `json:"rows,omitempty"`
}

// Row is a line of an answer, with its name.
type Row struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Grid is a table of what was expected and what was seen, a row a bug.
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

// GridCell is a bug on a release. One that has not run has neither Expected nor Seen.
type GridCell struct {
	Expected string `json:"expected,omitempty"`
	Seen     string `json:"seen,omitempty"`
	// Shown of Runs had the bug.
	Shown int `json:"shown"`
	Runs  int `json:"runs"`
	// Differs is set where something else was seen than expected, Nothing where nothing is
	// known after it has run.
	Differs bool `json:"differs,omitempty"`
	Nothing bool `json:"nothing,omitempty"`
	// Outcome is that of a run which shows what was seen; Cases are the ids of all runs.
	Outcome harness.Outcome `json:"outcome,omitempty"`
	Cases   []string        `json:"cases,omitempty"`
}

// Case is one case of a report.
type Case struct {
	// ID is its name in the report, which no other case has: case-17.
	ID      string
	Verdict harness.Verdict
	// Workload and Fault are what was done, in a few words.
	Workload string
	Fault    string
	// Whose says which known bug it shows, if that is known: a line each.
	Whose []string
	// Replay is the command that runs it again.
	Replay string
	// Without names its run without a fault in Data; "": there is none.
	Without string
}

// State is what is known of a cluster.
type State string

// The states, in the order of how much they matter.
const (
	New          State = "new"            // nothing known explains it
	More         State = "more"           // known, and in more cases than are known
	Gone         State = "gone"           // known, and not found any more
	Unreproduced State = "not-reproduced" // new, and it does not come again
	Known        State = "known"
)

// Cluster is what cases of one cause have in common.
type Cluster struct {
	ID string
	// Key names it from one report to the next, where its ID may change. Default: its ID.
	Key   string
	State State
	Title string
	// Severity is that of the known bug, if it is one: the catalogue's word.
	Severity catalogue.Severity `json:",omitempty"`
	// Says are lines about it: what is left, where, how often.
	Says []string
	// Cases are the ids of its cases, the simplest first.
	Cases []string
	// Replay is the command that shows it.
	Replay string
}

// All are cases that are there already, for Data.
func All(cases []Case) iter.Seq2[Case, error] {
	return func(yield func(Case, error) bool) {
		for _, c := range cases {
			if !yield(c, nil) {
				return
			}
		}
	}
}
