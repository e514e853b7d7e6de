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
func proofs(h *run) (_ []finding.Finding, missed []harness.Problem) {
	if !looked(h) && len(h.Problems) == 0 { // otherwise another problem already says why
		missed = problem(harness.ByLook, "the history has no final inventory, and no problem says why")
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

// hitInstead lists the points that were hit before the client was done, with their
// counts. Later hits come from calls of the oracle. If the fault's process hit points of
// the fault's kind, hitInstead lists only these. It counts the entry and the exit of a
// call as one.
func hitInstead(h *run, at failpoints.Point) string {
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
		return "nothing"
	}
	return strings.Join(seen, ", ")
}
