package rate

import (
	"slices"
	"testing"
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
		if got := (Count{ID: "x", Left: c.left, Of: c.of, Most: 0.6}).Exceeds(); got != c.want {
			t.Errorf("%d of %d: %v", c.left, c.of, got)
		}
	}
}

func TestSum(t *testing.T) {
	got := Sum([]Count{{"b", 1, 1, 0.5}, {"a", 1, 2, 0.6}, {"b", 0, 3, 0.5}})
	if want := []Count{{"a", 1, 2, 0.6}, {"b", 1, 4, 0.5}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
