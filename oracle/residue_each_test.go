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
		if got := len(Violations(Mark(catalogued(t), two, c))); got != want {
			t.Errorf("%d killed: %d sockets violate, want %d", killed, got, want)
		}
	}
}

// An exit that is reported again is known once for each thing that happened, of each
// container: a containerd that tells it ten times is broken.
func TestAFaultExcusesOneRepeatOfEachContainer(t *testing.T) {
	again := func(id string) Finding {
		return Finding{Invariant: Event, Class: ClassEvent, Subject: Subject{ID: id},
			Facts: Facts{FactEvent: Repeated, FactTopic: TopicExit, FactRepeat: SameAgain}}
	}
	all := []Finding{again("c0"), again("c1"), again("c0"), again("c0")}
	for faults, want := range map[int]int{0: 4, 1: 2, 2: 1, 3: 0} {
		c := Circumstances{Release: "v2.4.2"}
		for range faults {
			c.Happened = append(c.Happened, FaultInjected)
		}
		if got := len(Violations(Mark(catalogued(t), all, c))); got != want {
			t.Errorf("%d faults: %d repeats violate, want %d", faults, got, want)
		}
	}
}
