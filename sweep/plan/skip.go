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
