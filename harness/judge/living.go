package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// livingKeep: a containerd that was started takes nothing from those that live on,
// whatever it cleans up: no file, no directory and no mount. Where a fault has broken a
// call of its own, or somebody has killed a shim or what runs behind it, it may have to.
func livingKeep(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if h.Before == nil {
		return nil, nil
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
	return uniqueCauses(found), nil
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

// brokenOrKilled reports whether a fault may by then have broken a call of containerd's
// own, or anything but containerd itself.
func brokenOrKilled(h *harness.History, by time.Time) bool {
	return broken(h, by) ||
		slices.ContainsFunc(h.Kills, func(k harness.Kill) bool { return k.Who != "containerd" && !k.At.After(by) }) ||
		slices.ContainsFunc(h.Hits, func(hit failpoints.Hit) bool {
			return hit.Who == "shim" && killedByTerm(hit.Did) && !hit.Time.After(by)
		})
}
