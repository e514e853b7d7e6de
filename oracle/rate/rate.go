// Package rate decides whether a known race loses more than its usual share. One case
// cannot show that: a race that sometimes loses an event is known, and code that always
// loses the event has a new bug.
package rate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Count is how often a known residue appeared, and how often it could have appeared.
// Counts of several cases are added.
type Count struct {
	ID   string `json:"residue"`
	Left int    `json:"left"`
	Of   int    `json:"of"`
	// Most is the known share, from 0 to 1.
	Most float64 `json:"most"`
	// End is how the counted containers ended (see BySignal). "" counts all containers.
	End string `json:"end,omitempty"`
}

// BySignal counts only the containers that a signal ended without a fault. They need a
// count of their own, because they are a third of all. If a bug affects only these, the
// share of all containers can still be below the limit.
const BySignal = "signal"

// sigmas is how many standard deviations above its share a residue may appear by chance.
// One sweep in a thousand has more.
const sigmas = 3

// Limit returns how many of the Of containers may show the residue. Of a few containers
// all may, because so few prove nothing.
func (c Count) Limit() int {
	n := float64(c.Of)
	return min(c.Of, int(n*c.Most+sigmas*math.Sqrt(n*c.Most*(1-c.Most))))
}

// Exceeds reports whether more containers show the residue than the limit allows.
func (c Count) Exceeds() bool { return c.Left > c.Limit() }

// String returns a line for a person.
func (c Count) String() string {
	of := c.ID
	if c.End != "" {
		of += " of containers ended by a " + c.End
	}
	return fmt.Sprintf("%s: %d of %d, at most %d are known (%.0f %%)", of, c.Left, c.Of, c.Limit(), 100*c.Most)
}

// Sum adds counts by residue and end.
func Sum(all []Count) []Count {
	type kind struct{ id, end string }
	by := map[kind]Count{}
	for _, c := range all {
		of := kind{c.ID, c.End}
		s := by[of]
		by[of] = Count{ID: c.ID, Left: s.Left + c.Left, Of: s.Of + c.Of, Most: max(s.Most, c.Most), End: c.End}
	}
	return slices.SortedFunc(maps.Values(by), func(a, b Count) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.End, b.End))
	})
}
