package judge

import "testing"

// A time that cannot be is said of the event alone: who tells the true one is not accused
// beside it.
func TestATimeThatCannotBeAccusesNobodyElse(t *testing.T) {
	for ms, accused := range map[int]bool{31: true, -5000: false} {
		h := clean()
		plain(&h)
		h.Events[2].Exited = at(ms)
		found := ledgerOf(&h).differingTimes()
		if len(found) > 0 != accused {
			t.Errorf("%d ms: %v", ms, found)
		}
	}
}
