package judge

import (
	"fmt"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// criLimits: CRI says of each container the memory limit that it was made with, or was
// given last, also when containerd was started again: a kubelet takes from that whether
// it has yet to resize it. Of a release that tells none nothing is asked. A fault may
// have broken what it knows that from.
func criLimits(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if h.CRI == nil || !h.Case.Faultless() {
		return nil, nil
	}
	for _, i := range h.Instances {
		tells := false
		for _, s := range h.CRI.Statuses {
			if s.ID != i.ID {
				continue
			}
			tells = tells || s.MemoryLimit != 0
			if want := memoryLimit(h, i, s.Asked); tells && s.MemoryLimit != want {
				found = append(found, about(fact.AContainer, i.ID, fact.FieldMemoryLimit, fact.Other,
					inBytes(s.MemoryLimit), inBytes(want)))
			}
		}
	}
	return uniqueCauses(found), nil
}

// memoryLimit is what a container may have of memory at a time, in bytes; 0: no limit of
// its own. The client asks for nothing while it sets one.
func memoryLimit(h *harness.History, i harness.Instance, at time.Time) int64 {
	limit := int64(i.Spec.Memory) << 20
	for _, r := range h.CRI.Raised {
		if r.ID == i.ID && !r.Answered.After(at) {
			limit = r.Limit
		}
	}
	return limit
}

// inBytes is "" of a limit that there is not.
func inBytes(limit int64) string {
	if limit == 0 {
		return ""
	}
	return fmt.Sprintf("%d bytes", limit)
}
