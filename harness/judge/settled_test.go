package judge

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/residue"
)

// If a run ended early, a missing event is not a finding. The events that had arrived are
// judged.
func TestWhatHasNotSettledMissesNothing(t *testing.T) {
	unsettled := func(h *harness.History) {
		h.Events, h.Flushed, h.Reuse = nil, nil, nil
		h.Problems = problem(harness.ByLook, "wait for the last events: x")
	}
	judged(t, map[string]row{
		"no event has come":   {unsettled, "inventory"},
		"and nobody reported": {func(h *harness.History) { unsettled(h); h.Reported = nil }, "inventory"},
		"what was reported is wrong": {func(h *harness.History) {
			unsettled(h)
			h.Reported[1].Status = 0
		}, "exit exit-code by=delete status=made-up-0"},
	})
}

// The residues of a round of a crash loop do not depend on later rounds.
func TestConditionsAreThoseOfTheirTime(t *testing.T) {
	h := clean()
	kill(&h, "shim", 42)
	h.Kills[len(h.Kills)-1].At = at(30)
	h.Instances[0].Deleted = at(30)
	for ms, want := range map[int]bool{29: false, 30: true} {
		got := conditions(runOf(&h), at(ms)).Happened
		for _, what := range []string{residue.TaskDeleted, residue.ShimKilled} {
			if slices.Contains(got, what) != want {
				t.Errorf("%d ms: %v, and %s is %t", ms, got, what, want)
			}
		}
	}
}
