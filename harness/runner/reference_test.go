package runner

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
)

// A reference that held with most of its time gone does not prove that the machine can.
func TestAReferenceThatHeldByLuckShowsNothing(t *testing.T) {
	for took, want := range map[time.Duration]harness.Outcome{
		100 * time.Millisecond: harness.Held, 2 * time.Second: harness.Held, 8 * time.Second: harness.Invalid,
	} {
		calls := []harness.Call{{Verb: "wait", Took: time.Minute}, {Verb: "create", Took: took}}
		if got := inTime(&harness.Reference{Outcome: harness.Held}, calls, 10*time.Second); got.Outcome != want ||
			(got.Why != "") != (want != harness.Held) {
			t.Errorf("create took %s: %+v", took, got)
		}
	}
}
