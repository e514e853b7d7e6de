package judge

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/finding"
)

// vanished: what was there before the workload is there after it, and a containerd that
// is started takes nothing from what lives on.
func vanished(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if looked(h) {
		found = compare.Vanished(*h.Before, *h.After.Inventory)
	}
	return append(found, takenFromLiving(h)...), nil
}
