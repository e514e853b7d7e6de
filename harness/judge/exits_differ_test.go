package judge

import "testing"

// An impossible time is a finding about its event alone. The right times in other reports
// are not findings.
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
