package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// stopBound is how long containerd may take to end when it is asked to. It takes some 10
// ms; systemd gives it 90 s and then kills it.
const stopBound = 10 * time.Second

// deaths: containerd does not end by itself, and exits with 0 soon after SIGTERM. The
// harness starts it again after each end, so without this rule a panic would look
// harmless. A containerd that never booted is broken if the default release runs the
// workload here.
func deaths(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if neverBooted(h) && !h.MachineCan() {
		return nil, nil // that it does not boot here is reported
	}
	if neverAnswered(h) {
		return []finding.Finding{{Invariant: finding.Liveness, Class: finding.ClassDaemon,
			Facts: fact.Facts{fact.What: fact.Boot, fact.Error: "it never answers"}}}, nil
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
		late := d.Asked && !d.Killed && d.After > stopBound && !has(h, containerdFroze)
		if byFault[d.PID] || d.Asked && d.Code == want && !late {
			continue
		}
		fs := fact.Facts{fact.What: fact.Death, fact.Exit: fmt.Sprint(d.Code)}
		if d.Asked {
			fs[fact.Asked], fs[fact.Apart] = fact.Yes, d.After.Round(time.Second).String()
		}
		if d.Overdue {
			fs[fact.Status] = fact.Killed
		}
		found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassDaemon, Facts: fs})
	}
	return found, nil
}

// panicked is the status that a program in Go exits with when it panics.
const panicked = "2"

// died reports whether a finding is of a containerd that has ended by itself, or has
// never answered, or of a shim that has panicked.
func died(f finding.Finding) bool {
	return f.Facts[fact.What] == fact.Death ||
		f.Facts[fact.What] == fact.ShimEnded && f.Facts[fact.Exit] == panicked ||
		f.Facts[fact.What] == fact.Boot && f.Class == finding.ClassDaemon
}

// neverBooted reports whether containerd has ended at each try to start it, or has not
// answered, and no fault had happened.
func neverBooted(h *harness.History) bool {
	boot := func(p harness.Problem) bool { return p.Kind == harness.ByBoot }
	return h.Reached == harness.Prepared && slices.ContainsFunc(h.Problems, boot) && !h.AnyFired()
}

// neverAnswered reports whether containerd was started, and neither ends nor answers.
func neverAnswered(h *harness.History) bool { return neverBooted(h) && len(h.Deaths) == 0 }
