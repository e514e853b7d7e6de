package report

import (
	"cmp"
	"encoding/json"
	"io"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/quote"
)

// ResultsFile is the name of the file of results. docs/results.md describes its JSON
// lines.
const ResultsFile = "results.jsonl"

// ResultsFormat is the version of that form. A new field does not change the version.
const ResultsFormat = 1

// resultsHead is the first line.
type resultsHead struct {
	Type      string `json:"type"` // head
	Shimquake string `json:"shimquake"`
	Format    int    `json:"format"`
	Title     string `json:"title"`
	Command   string `json:"command,omitempty"`
	Made      string `json:"made"`
}

// resultsCase is the line of a case.
type resultsCase struct {
	Type     string            `json:"type"` // case
	ID       string            `json:"id"`
	Case     string            `json:"case"`
	Verdict  harness.Outcome   `json:"verdict"`
	Version  string            `json:"containerd"`
	Workload string            `json:"workload,omitempty"`
	Fault    string            `json:"fault,omitempty"`
	Reason   string            `json:"reason,omitempty"`
	Clusters []string          `json:"clusters,omitempty"`
	Problems []harness.Problem `json:"problems,omitempty"`
	Findings []finding.Finding `json:"findings,omitempty"`
	Firings  []harness.Firing  `json:"firings,omitempty"`
	Truths   []exit.Truth      `json:"truths,omitempty"`
	Evidence string            `json:"evidence,omitempty"`
	Replay   string            `json:"replay,omitempty"`
	Millis   int64             `json:"ms"`
}

// resultsCluster is the line of a cluster.
type resultsCluster struct {
	Type   string   `json:"type"` // cluster
	ID     string   `json:"id"`
	State  State    `json:"state"`
	Key    string   `json:"key"`
	Title  string   `json:"title"`
	Says   []string `json:"says,omitempty"`
	Cases  []string `json:"cases,omitempty"`
	Replay string   `json:"replay,omitempty"`
}

// resultsEnd is the last line: a file without it was cut off.
type resultsEnd struct {
	Type     string `json:"type"` // end
	Cases    int    `json:"cases"`
	Held     int    `json:"held"`
	Violated int    `json:"violated"`
	Invalid  int    `json:"invalid"`
	Lacks    string `json:"lacks,omitempty"`
}

// results writes the lines of results.jsonl case by case.
type results struct{ to *json.Encoder }

func newResults(w io.Writer, d Data) (results, error) {
	r := results{json.NewEncoder(quote.NewTerminal(w))} // escapes keep the JSON values
	return r, r.to.Encode(resultsHead{"head", "results", ResultsFormat, d.Title, d.Command, stamp(d.Made)})
}

func (r results) add(c Case, clusters []string) error {
	v := c.Verdict
	return r.to.Encode(resultsCase{Type: "case", ID: c.ID, Case: v.Name, Verdict: v.Outcome, Version: v.Version,
		Workload: c.Workload, Fault: c.Fault, Reason: Reason(v), Clusters: clusters, Problems: v.Problems,
		Findings: v.Findings, Firings: v.Firings, Truths: v.Truths, Evidence: v.Evidence, Replay: c.Replay,
		Millis: v.Took.Milliseconds()})
}

func (r results) end(d Data, n map[harness.Outcome]int) error {
	for _, c := range d.Clusters {
		err := r.to.Encode(resultsCluster{"cluster", c.ID, c.State, cmp.Or(c.Key, c.ID), c.Title, c.Says, c.Cases, c.Replay})
		if err != nil {
			return err
		}
	}
	held, violated, invalid := n[harness.Held], n[harness.Violated], n[harness.Invalid]
	return r.to.Encode(resultsEnd{"end", held + violated + invalid, held, violated, invalid, d.Lacks})
}
