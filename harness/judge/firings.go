package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
)

// firings: every planned fault fired. For a fault that did not, the points that were hit
// instead are reported.
func firings(h *harness.History) (_ []finding.Finding, missed []harness.Problem) {
	for _, f := range h.Firings {
		if f.Count == 0 {
			text := fmt.Sprintf("this fault did not fire: %s (%s); hit instead: %s", f.Text, f.Proof, hitInstead(h))
			missed = append(missed, harness.Problem{Kind: harness.ByMiss, Miss: f.Miss, Text: text})
		}
	}
	return nil, missed
}

// hitInstead sums up the points that were passed until the client was done: what comes
// later is the oracle's doing.
func hitInstead(h *harness.History) string {
	hits := map[string]int{}
	for _, hit := range h.Hits {
		if h.Done.IsZero() || !hit.Time.After(h.Done) {
			hits[hit.Point]++
		}
	}
	seen := make([]string, 0, len(hits))
	for p, n := range hits {
		seen = append(seen, fmt.Sprintf("%s x%d", p, n))
	}
	slices.Sort(seen)
	if len(seen) == 0 {
		return "no point at all"
	}
	return strings.Join(seen, ", ")
}
