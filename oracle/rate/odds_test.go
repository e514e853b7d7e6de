package rate

import (
	"math"
	"testing"

	"github.com/shimquake/shimquake/must"
)

// So many held runs are needed for 1 %.
func TestNeeded(t *testing.T) {
	for count, want := range map[Odds]int{
		{20, 20}: 2, {5, 5}: 3, {10, 20}: 9, {4, 20}: 33, {1, 1}: 14, {4, 4}: 3,
	} {
		must.Equal(t, count.Needed(0.01), want, count, "runs")
		if n := count.Needed(0.01); count.AllHold(n) > 0.01 || count.AllHold(n-1) <= 0.01 {
			t.Errorf("%s: %d runs have %.4f, one less %.4f", count, n, count.AllHold(n), count.AllHold(n-1))
		}
	}
}

// A table of Jeffreys' intervals has these bounds.
func TestAtMost(t *testing.T) {
	for odds, want := range map[Odds]float64{{0, 10}: 0.2172, {1, 10}: 0.3813, {5, 10}: 0.7765, {10, 10}: 1} {
		if got := odds.AtMost(0.975); math.Abs(got-want) > 0.0005 {
			t.Errorf("%s: %.4f, want %.4f", odds, got, want)
		}
	}
}
