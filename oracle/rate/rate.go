// Package rate judges what one case cannot show: a race that loses something now and then
// is known; one that loses it each time is broken.
package rate

import (
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
}

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
	return fmt.Sprintf("%s: %d of %d, at most %d are known (%.0f %%)", c.ID, c.Left, c.Of, c.Limit(), 100*c.Most)
}

// Sum adds counts up, by residue.
func Sum(all []Count) []Count {
	by := map[string]Count{}
	for _, c := range all {
		s := by[c.ID]
		by[c.ID] = Count{c.ID, s.Left + c.Left, s.Of + c.Of, max(s.Most, c.Most)}
	}
	out := make([]Count, 0, len(by))
	for _, c := range by {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Count) int { return strings.Compare(a.ID, b.ID) })
	return out
}
