package repro

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness/client/cri"
	"github.com/shimquake/shimquake/repro/read"
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

// loggedIn are the messages of the log of a run that was kept, without those of what the
// client tries in vain to see whether a name is free.
func loggedIn(evidence string) []read.Observation {
	if evidence == "" {
		return nil
	}
	const mostLog = 65 << 20 // more than a run keeps
	text, err := foreign.ReadFile(filepath.Join(evidence, "containerd.log"), mostLog)
	if err != nil {
		return nil // it did not come so far
	}
	return slices.DeleteFunc(Quoted(read.Text(string(text))), func(o read.Observation) bool {
		return strings.Contains(o.Raw, cri.Absent)
	})
}
