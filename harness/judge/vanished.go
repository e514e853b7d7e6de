package judge

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/finding"
)

// vanished: everything that was there before is still there, and a started containerd
// takes nothing from a running container.
func vanished(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if looked(h) {
		found = compare.Vanished(*h.Before, *h.After.Inventory)
	}
	return append(found, takenFromLiving(h)...), nil
}
