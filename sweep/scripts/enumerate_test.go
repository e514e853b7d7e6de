package scripts

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
)

// Every script can be run, and each is another.
func TestEnumerate(t *testing.T) {
	for length, want := range map[int]int{1: 12, 2: 92, 3: 461, 4: 2029} {
		seen := map[string]bool{}
		cases := Enumerate(length)
		for _, c := range cases {
			if err := c.Check(); err != nil || seen[c.Name] {
				t.Fatalf("%s: %v", c, err)
			}
			seen[c.Name] = true
		}
		if len(cases) != want {
			t.Errorf("%d scripts of length %d, want %d", len(cases), length, want)
		}
	}
	again := Enumerate(2)
	for n, c := range Enumerate(2) {
		if back, err := harness.ParseCase("c", []byte(c.String())); err != nil || back.String() != again[n].String() {
			t.Fatalf("%s: %v", c, err)
		}
	}
}
