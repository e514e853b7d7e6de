package judge

import (
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// lostWithNode reports whether how a process ended was perhaps known to its shim alone
// when the node started anew: then nobody can tell it.
func lostWithNode(h *harness.History, container, exec string) bool {
	n := slices.IndexFunc(h.Instances, func(i harness.Instance) bool { return i.ID == container })
	if n < 0 {
		return false
	}
	from, to := maybeUntold(h, h.Instances[n], exec)
	return rebootIn(h, from, to)
}

// saysUnknown reports whether a finding about an exit is CRI's 255 for one that nobody
// can know.
func saysUnknown(h *harness.History, f finding.Finding) bool {
	return f.Facts[fact.By] == string(exit.ByCRIStatus) && f.Facts[fact.Status] == fact.MadeUp255 &&
		lostWithNode(h, f.Subject.ID, f.Subject.Exec)
}
