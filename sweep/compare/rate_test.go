package compare

import "testing"

// So many held runs are needed for 1 %.
func TestNeeded(t *testing.T) {
	for count, want := range map[Count]int{
		{20, 20}: 2, {5, 5}: 3, {10, 20}: 9, {4, 20}: 33, {1, 1}: 14, {4, 4}: 3,
	} {
		if got := count.needed(0.01); got != want {
			t.Errorf("%s: %d runs, want %d", count, got, want)
		}
		if n := count.needed(0.01); count.allHold(n) > 0.01 || count.allHold(n-1) <= 0.01 {
			t.Errorf("%s: %d runs have %.4f, one less %.4f", count, n, count.allHold(n), count.allHold(n-1))
		}
	}
}
