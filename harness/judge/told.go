package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
)

// told are the times in which containerd knew that the shim of a task had told the end
// and the removal: from when it asked the shim to exit, after an answer that the task is
// deleted, until it died, or the id was used again. What may have lost the answer on its
// way excuses it.
func told(h *harness.History, id string) (all []event.Gap) {
	var answered, lost, unheard bool // unheard is a call whose answer the plan loses
	knows := 0                       // the pid of the containerd that has had the answer
	for _, hit := range inOrder(h.Hits) {
		if hit.Did != term.Off && hit.Who == "containerd" && hit.Passed().Kind == failpoints.Stmt {
			lost = true
		}
		if hit.ID != id || hit.ExecID != "" {
			continue
		}
		switch hit.Point {
		case "rpc:containerd:Task.Create:entry":
			if n := len(all); n > 0 && all[n-1].To.IsZero() {
				all[n-1].To = hit.Time
			}
			answered, lost, unheard, knows = false, false, false, 0
		case "rpc:containerd:Task.Delete:entry":
			answered, unheard = false, hit.Did == term.Lose
		case "rpc:shim:Task.Delete:exit":
			answered = hit.Err == "" && hit.Did == term.Off
		case "rpc:containerd:Task.Delete:exit":
			if answered && !unheard && !lost && hit.Err == "" && hit.Did == term.Off {
				knows = hit.PID
			}
		case "rpc:containerd:Task.Shutdown:entry":
			if knows == hit.PID {
				all, knows = append(all, event.Gap{From: hit.Time}), 0
			}
		}
	}
	for n := range all {
		all[n].To = soonest(all[n].To, diedAfter(h, all[n].From))
	}
	return all
}

// diedAfter is when containerd died first after a time; the zero time: it did not.
func diedAfter(h *harness.History, from time.Time) time.Time {
	for _, d := range h.Deaths {
		if d.At.After(from) {
			return d.At
		}
	}
	return time.Time{}
}

// inOrder are hits by their time: those of two processes may be noted in another order.
func inOrder(hits []failpoints.Hit) []failpoints.Hit {
	sorted := slices.Clone(hits)
	slices.SortStableFunc(sorted, func(a, b failpoints.Hit) int { return a.Time.Compare(b.Time) })
	return sorted
}
