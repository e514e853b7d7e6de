package oracle

import "testing"

// One shim that was killed excuses one socket: a second one is of a shim that ended by
// itself and has left it.
func TestAKilledShimExcusesOneSocket(t *testing.T) {
	socket := func(path string) Finding {
		return Finding{Invariant: Leak, Class: ClassSocket, Subject: Subject{Path: path}, Facts: Facts{FactSocket: Silent}}
	}
	two := []Finding{socket("/run/containerd/s/a"), socket("/run/containerd/s/b")}
	for killed, want := range map[int]int{0: 2, 1: 1, 2: 0} {
		c := Circumstances{Release: "v2.4.2"}
		for range killed {
			c.Happened = append(c.Happened, ShimKilled, ShimKilledServing)
		}
		if got := len(Violations(Mark(two, c))); got != want {
			t.Errorf("%d killed: %d sockets violate, want %d", killed, got, want)
		}
	}
}
