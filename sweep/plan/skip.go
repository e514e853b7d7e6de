package plan

import (
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
)

// isTimed reports whether a timer decides when the process reaches the point.
func isTimed(p failpoints.Point) bool {
	return slices.Contains(timed, p.What) ||
		p.What == timedLoop && (strings.Contains(p.Where, "backOff") || strings.Contains(p.Where, "range-ids"))
}

// IsOwnWork reports whether the shim reaches the hit in work of its own, and not for a
// call. No client can cancel that work.
func (p Hit) IsOwnWork() bool {
	own := func(prefix string) bool { return strings.HasPrefix(p.Point.What, prefix) }
	return p.Point.Who == "shim" && slices.ContainsFunc(ownWork, own)
}

// isServed reports whether the point's process is the one that handles the method.
func isServed(p failpoints.Point) bool {
	return (p.Who == "containerd") == (p.Service() == "Events")
}

// ignoresContext reports whether a method completes even if its context has ended at its
// entry, because its handler does not check the context. This was measured with v2.4.2.
func ignoresContext(p failpoints.Point) bool {
	switch p.What {
	case "Events.Forward", "Task.Connect":
		return true
	case "Task.Shutdown", "Task.State", "Task.Wait":
		return p.Who == "shim"
	}
	return false
}
