package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// crashes: containerd exits only on request or by a fault, and with 0 soon after SIGTERM.
// A shim exits with 0, and does not ignore SIGTERM. A containerd that never responds is a
// finding only if the default release can run the workload on this machine.
func crashes(h *run) ([]finding.Finding, []harness.Problem) {
	return slices.Concat(containerdExits(h), shimExits(h)), nil
}

// stopBound is how long containerd may take to exit after SIGTERM. It takes some 10 ms.
// systemd waits 90 s and then kills it.
const stopBound = 10 * time.Second

// containerdExits returns a finding for each exit of containerd that no fault caused and
// that was not requested, had a wrong status or came late. Other rules do not find a
// panic, because the harness restarts containerd after each exit.
func containerdExits(h *run) (found []finding.Finding) {
	if neverBooted(h) && !h.MachineCan() {
		return nil // harness.ByBoot already reports that no containerd starts on this machine
	}
	if neverAnswered(h) {
		fs := fact.Facts{fact.What: fact.Boot, fact.Error: "it never answers"}
		return append(found, unalive(finding.ClassDaemon, fs))
	}
	byFault := map[int]bool{}
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
		late := d.Asked && !d.Killed && d.After > stopBound && !tolerated(h, stopsInTime, span{})
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
		found = append(found, unalive(finding.ClassDaemon, fs))
	}
	return found
}

// unpublished is the exit status of a shim before v2.0 that lost events. It could not
// send them within 5 s after its service had ended ("publisher not closed").
const unpublished = 1

// shimExits returns a finding for each shim that exited with another status than 0, or
// ignored SIGTERM. The shutdown of a node waits 90 s for such a shim. If a fault targeted
// any shim, no exit status is judged, because `shim start` also kills the shim that it
// started.
func shimExits(h *run) (found []finding.Finding) {
	for _, e := range h.Exits {
		n := slices.IndexFunc(h.Hits, func(hit failpoints.Hit) bool { return hit.Who == "shim" && hit.PID == e.PID })
		shim := harness.Instance{PID: uint32(e.PID)}
		if e.Code == 0 || n < 0 || e.Code == unpublished && tolerated(h, shimPublishes, span{}) ||
			toleratedOf(h, shimExitsWell, shim, span{}) ||
			slices.ContainsFunc(h.IgnoredSIGTERM, func(u harness.IgnoredSIGTERM) bool { return u.PID == e.PID }) {
			continue
		}
		found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassShim,
			Subject: finding.Subject{ID: h.Hits[n].ID, PID: e.PID},
			Facts:   fact.Facts{fact.What: fact.ShimEnded, fact.Exit: fmt.Sprint(e.Code)}})
	}
	for _, u := range h.IgnoredSIGTERM {
		found = append(found, finding.Finding{
			Invariant: finding.Liveness, Class: finding.ClassShim,
			Subject: finding.Subject{PID: u.PID, ID: u.ID, Namespace: u.Namespace},
			Facts:   fact.Facts{fact.What: fact.Shutdown, fact.Bound: u.For.String()},
		})
	}
	return found
}

// panicked is the exit status of a Go program that panics.
const panicked = "2"

// isCrash reports whether a finding is about a containerd that exited wrongly or never
// responded, or about a shim that panicked.
func isCrash(f finding.Finding) bool {
	return f.Facts[fact.What] == fact.Death ||
		f.Facts[fact.What] == fact.ShimEnded && f.Facts[fact.Exit] == panicked ||
		f.Facts[fact.What] == fact.Boot && f.Class == finding.ClassDaemon
}

// neverBooted reports whether containerd exited at each start, or did not respond, before
// any fault happened.
func neverBooted(h *run) bool {
	boot := func(p harness.Problem) bool { return p.Kind == harness.ByBoot }
	return h.Reached == harness.Prepared && slices.ContainsFunc(h.Problems, boot) && !h.AnyFired()
}

// neverAnswered reports whether containerd was started, and neither exited nor responded.
func neverAnswered(h *run) bool { return neverBooted(h) && len(h.Deaths) == 0 }
