// Package rate judges a race that one case cannot show. A race that sometimes loses
// something is known. If it loses it every time, it is a bug.
package rate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Count is how often a known residue was left, and how often it could have been. Counts
// of several cases are added.
type Count struct {
	ID   string `json:"residue"`
	Left int    `json:"left"`
	Of   int    `json:"of"`
	// Most is the known share.
	Most float64 `json:"most"`
	// End is the way in which the counted containers ended, see BySignal; "" counts all.
	End string `json:"end,omitempty"`
}

// BySignal counts the containers that a signal has ended without a fault. They are a
// third of all: if all of them are affected, the total share is still no more than a race
// may have.
const BySignal = "signal"

// sigmas is how many standard deviations above its share a residue may come by chance:
// one sweep in a thousand has more.
const sigmas = 3

// Limit returns how many of that number are known. Of a few cases it is all of them: they
// show nothing.
func (c Count) Limit() int {
	n := float64(c.Of)
	return min(c.Of, int(n*c.Most+sigmas*math.Sqrt(n*c.Most*(1-c.Most))))
}

// Exceeds reports whether there are more than the limit.
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
	out := make([]Count, 0, len(by))
	for _, c := range by {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.End, b.End))
	})
	return out
}
