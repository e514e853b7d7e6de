package repro

import (
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness/client/cri"
	"github.com/shimquake/shimquake/repro/read"
	"github.com/shimquake/shimquake/repro/signature"
	"github.com/shimquake/shimquake/repro/statement"
)

// Quoted returns the warnings and errors of containerd in a report. A run can be
// checked for the same messages.
func Quoted(r read.Report) []read.Observation {
	return slices.DeleteFunc(r.BySort(read.Message), func(o read.Observation) bool { return !o.Complains() })
}

// made returns the statements of all messages of a report.
func made(r read.Report) (all []statement.Match) {
	for _, o := range r.BySort(read.Message) {
		all = append(all, o.Made)
	}
	return all
}

// saidIn returns the logged messages and the errors of calls of a run, from its folder of
// evidence. It leaves out calls that only check whether a name is free. A run without
// evidence has no messages.
func saidIn(evidence string) []statement.Match {
	said, err := signature.LogsIn(evidence)
	if err != nil {
		return nil
	}
	isCheck := func(text string) bool { return strings.Contains(text, cri.Absent) }
	said.Log = strings.Join(slices.DeleteFunc(strings.SplitAfter(said.Log, "\n"), isCheck), "")
	said.Errors = slices.DeleteFunc(said.Errors, isCheck)
	return said.Made()
}
