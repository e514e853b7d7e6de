package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// stopBound is how long containerd may take to end when it is asked to. It takes some 10
// ms; systemd gives it 90 s and then kills it.
const stopBound = 10 * time.Second

// deaths: containerd does not end by itself, and where it is asked to stop it exits with
// 0, and soon. It is started again whenever it ends and its client comes back, so that
// without this a containerd that panics over a fault would look like one that took it
// well. One that never booted, whether it ended or does not answer, is broken where the
// default release runs the workload here.
func deaths(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if neverBooted(h) && !h.MachineCan() {
		return nil, nil // that it does not boot here is reported
	}
	if neverAnswered(h) {
		return []oracle.Finding{{Invariant: oracle.Liveness, Class: oracle.ClassDaemon,
			Facts: oracle.Facts{oracle.FactWhat: oracle.Boot, oracle.FactError: "it never answers"}}}, nil
	}
	byFault := map[int]bool{} // asked to end itself
	for _, hit := range h.Hits {
		if hit.Who == "containerd" && killedByTerm(hit.Did) {
			byFault[hit.PID] = true
		}
	}
	for _, d := range h.Deaths {
		want := uint32(0)
		if d.Killed || d.Overdue {
			want = killed
		}
		late := d.Asked && !d.Killed && d.After > stopBound && !stopsContainerd(h.Case)
		if byFault[d.PID] || d.Asked && d.Code == want && !late {
			continue
		}
		fs := oracle.Facts{oracle.FactWhat: oracle.Death, oracle.FactExit: fmt.Sprint(d.Code)}
		if d.Asked {
			fs[oracle.FactAsked], fs[oracle.FactApart] = oracle.Yes, d.After.Round(time.Second).String()
		}
		if d.Overdue {
			fs[oracle.FactStatus] = oracle.Killed
		}
		found = append(found, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassDaemon, Facts: fs})
	}
	return found, nil
}

// panicked is the status that a program in Go exits with when it panics.
const panicked = "2"

// died reports whether a finding is of a containerd that has ended by itself, or has
// never answered, or of a shim that has panicked.
func died(f oracle.Finding) bool {
	return f.Facts[oracle.FactWhat] == oracle.Death ||
		f.Facts[oracle.FactWhat] == oracle.ShimEnded && f.Facts[oracle.FactExit] == panicked ||
		f.Facts[oracle.FactWhat] == oracle.Boot && f.Class == oracle.ClassDaemon
}

// neverBooted reports whether containerd has ended at each try to start it, or has not
// answered, and no fault had happened.
func neverBooted(h *harness.History) bool {
	boot := func(p harness.Problem) bool { return p.Kind == harness.ByBoot }
	return h.Reached == harness.Prepared && slices.ContainsFunc(h.Problems, boot) && !h.AnyFired()
}

// neverAnswered reports whether containerd was started, and neither ends nor answers.
func neverAnswered(h *harness.History) bool { return neverBooted(h) && len(h.Deaths) == 0 }
