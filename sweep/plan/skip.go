package plan

import (
	"regexp"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
)

// isTimed reports whether a timer decides when a point is passed.
func isTimed(p failpoints.Point) bool {
	return slices.Contains(timed, p.What) ||
		p.What == timedLoop && (strings.Contains(p.Where, "backOff") || strings.Contains(p.Where, "range-ids"))
}

// passive are statements, by their text, that cannot wait and call nothing that is given
// a context: one that is cancelled before them is still unseen at the next statement,
// where it is cancelled too.
var passive = regexp.MustCompile(
	`^(if-err|if-[A-Za-z0-9_.]+-nil|return(-.*)?|defer-[A-Za-z-]*|log\..*|var-.*` +
		`|[A-Za-z0-9_.]+-(true|false|nil))(#\d+)?$`)

// idle reports whether ending the context at a statement is the same as ending it at the
// next.
func idle(p failpoints.Point) bool {
	return p.Kind == failpoints.Stmt && passive.MatchString(p.Where) &&
		!strings.Contains(strings.ToLower(p.Where), "ctx")
}
