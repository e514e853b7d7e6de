// Package rate judges what one case cannot show: a race that loses something now and then
// is known; one that loses it each time is broken.
package rate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Count is how often a known residue was left, of how often it could have been. Counts of
// several cases are summed up.
type Count struct {
	ID   string `json:"residue"`
	Left int    `json:"left"`
	Of   int    `json:"of"`
	// Most is the share that is known.
	Most float64 `json:"most"`
	// End is how the containers ended that are counted, see BySignal; "" counts all.
	End string `json:"end,omitempty"`
}

// BySignal are those that a signal has ended, and no fault: what is always lost of them
// is a third of all, which is no more than a race may lose.
const BySignal = "signal"

// sigmas is how many standard deviations above its share a residue may come by chance:
// one sweep in a thousand would have more.
const sigmas = 3

// Limit is how many of that number are known. Of a few it is all of them: they show
// nothing.
func (c Count) Limit() int {
	n := float64(c.Of)
	return min(c.Of, int(n*c.Most+sigmas*math.Sqrt(n*c.Most*(1-c.Most))))
}

// Exceeds reports whether there are more than are known.
func (c Count) Exceeds() bool { return c.Left > c.Limit() }

// String is a line for a person.
func (c Count) String() string {
	of := c.ID
	if c.End != "" {
		of += " of containers ended by a " + c.End
	}
	return fmt.Sprintf("%s: %d of %d, at most %d are known (%.0f %%)", of, c.Left, c.Of, c.Limit(), 100*c.Most)
}

// Sum adds counts up, by residue and end.
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
