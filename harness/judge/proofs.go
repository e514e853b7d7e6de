package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
)

// proofs: every planned fault fired, and the harness took the final inventory. For a
// fault that did not fire, the verdict lists the points that were hit instead.
func proofs(h *harness.History) (_ []finding.Finding, missed []harness.Problem) {
	if !looked(h) && len(h.Problems) == 0 { // another problem already says why it did not
		missed = problem(harness.ByLook, "the history has no look at what was left, and no reason for that")
	}
	for _, f := range h.Firings {
		if f.Count > 0 {
			continue
		}
		text := "this fault did not fire: " + f.Text
		if f.Proof != harness.DidNotFire {
			text += " (" + f.Proof + ")"
		}
		var at failpoints.Point
		if f.Fault >= 0 && f.Fault < len(h.Case.Plan) {
			at = h.Case.Plan[f.Fault].At
		}
		missed = append(missed, harness.Problem{Kind: harness.ByMiss, Miss: f.Miss,
			Text: text + "; hit instead: " + hitInstead(h, at)})
	}
	return nil, missed
}

// hitInstead counts the passes of points until the client was done: later ones are those
// of the oracle. Where the process of the fault has passed points of the same kind, these
// are enough. The two points of a call are one.
func hitInstead(h *harness.History, at failpoints.Point) string {
	hits, near := map[failpoints.Point]int{}, false
	for _, hit := range h.Hits {
		p, err := failpoints.ParsePoint(hit.Point)
		if err != nil || !h.Done.IsZero() && hit.Time.After(h.Done) {
			continue
		}
		if p.Kind == failpoints.RPC {
			if p.Where == "exit" {
				continue
			}
			p.Where = ""
		}
		hits[p]++
		near = near || p.Kind == at.Kind && p.Who == at.Who
	}
	var seen []string
	for p, n := range hits {
		if near && (p.Kind != at.Kind || p.Who != at.Who) {
			continue
		}
		seen = append(seen, fmt.Sprintf("%s x%d", p, n))
	}
	slices.Sort(seen)
	if len(seen) == 0 {
		return "no point at all"
	}
	return strings.Join(seen, ", ")
}
