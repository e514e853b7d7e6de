package plan

import (
	"regexp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
)

// isTimed reports whether a timer decides when the process reaches the point.
func isTimed(p failpoints.Point) bool {
	return slices.Contains(timed, p.What) ||
		p.What == timedLoop && (strings.Contains(p.Where, "backOff") || strings.Contains(p.Where, "range-ids"))
}

// passive matches the texts of statements that cannot wait and pass no context to a call.
// A cancellation before such a statement has the same effect as one before the next
// statement.
var passive = regexp.MustCompile(
	`^(if-err|if-[A-Za-z0-9_.]+-nil|return(-.*)?|defer-[A-Za-z-]*|log\..*|var-.*` +
		`|[A-Za-z0-9_.]+-(true|false|nil))(#\d+)?$`)

// idle reports whether a cancelled context at the statement has the same effect as at the
// next statement.
func idle(p failpoints.Point) bool {
	return p.Kind == failpoints.Stmt && passive.MatchString(p.Where) &&
		!strings.Contains(strings.ToLower(p.Where), "ctx")
}
