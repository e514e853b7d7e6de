package judge

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// vanished: what was there before the workload is there after it.
func vanished(h *harness.History) ([]oracle.Finding, []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	return oracle.Vanished(*h.Before, *h.After.Inventory), nil
}
