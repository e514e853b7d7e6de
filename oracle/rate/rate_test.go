package rate

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestExceeds(t *testing.T) {
	for _, c := range []struct {
		left, of int
		want     bool
	}{
		{0, 0, false}, {1, 1, false}, {3, 3, false}, // a few show nothing
		{10, 20, false}, {18, 20, false}, {19, 20, true}, {20, 20, true},
		{600, 1000, false}, {640, 1000, false}, {660, 1000, true}, {1000, 1000, true},
	} {
		must.Equal(t, (Count{ID: "x", Left: c.left, Of: c.of, Most: 0.6}).Exceeds(), c.want, c.left, "of", c.of)
	}
}

func TestSum(t *testing.T) {
	got := Sum([]Count{
		{ID: "b", Left: 1, Of: 1, Most: 0.5}, {ID: "a", Left: 1, Of: 2, Most: 0.6}, {ID: "b", Of: 3, Most: 0.5},
		{ID: "b", Left: 2, Of: 2, Most: 0.5, End: BySignal},
	})
	if want := []Count{
		{ID: "a", Left: 1, Of: 2, Most: 0.6}, {ID: "b", Left: 1, Of: 4, Most: 0.5},
		{ID: "b", Left: 2, Of: 2, Most: 0.5, End: BySignal},
	}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
