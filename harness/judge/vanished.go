package judge

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/finding"
)

// vanished: what was there before the workload is there after it.
func vanished(h *harness.History) ([]finding.Finding, []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	return compare.Vanished(*h.Before, *h.After.Inventory), nil
}
