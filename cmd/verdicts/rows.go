package main

import "fmt"

// verdict is how one test or spec ended.
type verdict string

const (
	passed  verdict = "passed"
	failed  verdict = "failed"
	skipped verdict = "skipped"
)

// row is one test or spec.
type row struct {
	suite    string   // the folder of a suite, or the import path of a package.
	name     string   // the spec's full text, or the test's name
	verdict  verdict  // how it ended.
	outcomes []string // the outcomes of the spec's cases, each once: held, violated.
	known    []string // the known bugs of the violations, each once: containerd#8981.
	seconds  float64  // wall time
	reason   string   // why it failed or was skipped, one line
}

// orNothingRan adds a failed row if a command failed without naming a failure, or if no
// test ran. An empty run must never look like a success.
func orNothingRan(rows []row, who string, exit int) []row {
	ran, bad := 0, 0
	for _, r := range rows {
		if r.verdict != skipped {
			ran++
		}
		if r.verdict == failed {
			bad++
		}
	}
	switch {
	case bad > 0:
		return rows
	case exit != 0:
		reason := fmt.Sprintf("exit status %d, but no failed test in its report: see its output above", exit)
		return append(rows, row{suite: who, name: "ran to its end", verdict: failed, reason: reason})
	case ran == 0:
		return append(rows, row{suite: who, name: "ran something", verdict: failed, reason: "not one test ran"})
	}
	return rows
}
