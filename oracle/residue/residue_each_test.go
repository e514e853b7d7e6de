package residue

import (
	"testing"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// A killed shim excuses one socket. The second socket is a leak of a shim that exited by
// itself.
func TestAKilledShimExcusesOneSocket(t *testing.T) {
	socket := func(path string) finding.Finding {
		return finding.Finding{Invariant: finding.Leak, Class: finding.ClassSocket, Subject: finding.Subject{Path: path},
			Facts: fact.Facts{fact.Socket: fact.Silent}}
	}
	two := []finding.Finding{socket("/run/containerd/s/a"), socket("/run/containerd/s/b")}
	for killed, want := range map[int]int{0: 2, 1: 1, 2: 0} {
		c := Circumstances{Releases: []string{"v2.4.2"}}
		for range killed {
			c.Happened = append(c.Happened, ShimKilled, ShimKilledServing)
		}
		must.Len(t, finding.Violations(Mark(catalogued(t), two, c)), want, "sockets that violate, of shims killed", killed)
	}
}

// A repeated exit is a known residue once for each event and container. A containerd that
// sends it ten times has a bug.
func TestAFaultExcusesOneRepeatOfEachContainer(t *testing.T) {
	again := func(id string) finding.Finding {
		return finding.Finding{Invariant: finding.Event, Class: finding.ClassEvent, Subject: finding.Subject{ID: id},
			Facts: fact.Facts{fact.Event: fact.Repeated, fact.Topic: event.TopicExit, fact.Repeat: fact.SameAgain}}
	}
	all := []finding.Finding{again("c0"), again("c1"), again("c0"), again("c0")}
	for faults, want := range map[int]int{0: 4, 1: 2, 2: 1, 3: 0} {
		c := Circumstances{Releases: []string{"v2.4.2"}}
		for range faults {
			c.Happened = append(c.Happened, FaultInjected)
		}
		must.Len(t, finding.Violations(Mark(catalogued(t), all, c)), want, "repeats that violate, after faults", faults)
	}
}
