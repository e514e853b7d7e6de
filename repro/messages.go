package repro

import (
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness/client/cri"
	"github.com/shimquake/shimquake/repro/read"
	"github.com/shimquake/shimquake/repro/signature"
	"github.com/shimquake/shimquake/repro/statement"
)

// Quoted are the messages of a report that say that something is wrong, and that
// containerd makes: a run can be asked whether it has logged them.
func Quoted(r read.Report) (out []read.Observation) {
	for _, o := range r.Of(read.Message) {
		if slices.Contains([]string{"warning", "warn", "error", "fatal"}, o.Level) && len(o.Made.Chain) > 0 {
			out = append(out, o)
		}
	}
	return out
}

// made are the statements of all messages of a report.
func made(r read.Report) (all []statement.Match) {
	for _, o := range r.Of(read.Message) {
		all = append(all, o.Made)
	}
	return all
}

// saidIn are the logged messages of a run, by its evidence folder, and the errors of its
// calls. Calls that only look whether a name is free are left out. A run without evidence
// has none.
func saidIn(evidence string) (all []statement.Match) {
	said, err := signature.SaidIn(evidence)
	if err != nil {
		return nil
	}
	absent := func(text string) bool { return strings.Contains(text, cri.Absent) }
	for line := range strings.Lines(said.Log) {
		if !absent(line) {
			all = append(all, read.Logged(line)...)
		}
	}
	for _, text := range said.Errors {
		if !absent(text) {
			all = append(all, statement.KnownTable().Error(text))
		}
	}
	return all
}
