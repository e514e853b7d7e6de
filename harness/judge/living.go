package judge

import (
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// takenFromLiving returns the files, directories and mounts that a started containerd has
// removed, and that belonged to containers and sandboxes which live on. It may have to
// remove them after a fault in a call of its own, or after a shim or a process behind it
// was killed.
func takenFromLiving(h *harness.History) (found []finding.Finding) {
	if h.Before == nil {
		return nil
	}
	for n, is := range h.Belongings {
		if brokenOrKilled(h, is.At) {
			break
		}
		for _, id := range is.Of {
			if was, ok := lastHad(h.Belongings[:n], id); ok {
				found = append(found, compare.Taken(was, inventory.Belongings{Of: []string{id}, Have: is.Have},
					h.Before.Places)...)
			}
		}
	}
	return circumstances(h, uniqueCauses(found))
}

// lastHad is the look before at what somebody had.
func lastHad(looks []inventory.Belongings, id string) (inventory.Belongings, bool) {
	for _, b := range slices.Backward(looks) {
		if slices.Contains(b.Of, id) {
			return b, true
		}
	}
	return inventory.Belongings{}, false
}
