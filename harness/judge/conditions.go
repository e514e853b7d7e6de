package judge

import (
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/residue"
)

// Conditions returns the events so far that known residues depend on. The runner calls it
// while it waits until nothing changes.
func Conditions(h harness.History) residue.Circumstances { return conditions(runOf(&h), time.Time{}) }

// conditions returns the events until a time, or all of them for the zero time.
func conditions(h *run, at time.Time) residue.Circumstances {
	c := residue.Circumstances{Releases: h.Versions()}
	for _, i := range h.Instances {
		if !i.Deleted.IsZero() && harness.Within(i.Deleted, at) {
			c.Happened = append(c.Happened, residue.TaskDeleted)
		}
	}
	for range h.Fired(at) {
		c.Happened = append(c.Happened, residue.FaultInjected)
	}
	for _, d := range h.Deaths {
		if harness.Within(d.At, at) {
			c.Happened = append(c.Happened, residue.ContainerdDied)
		}
	}
	for e := range h.effectsOf(shimKilled) {
		if !harness.Within(e.from, at) || rebootIn(h, e.from, at) { // its socket is gone, too
			continue
		}
		c.Happened = append(c.Happened, residue.ShimKilled)
		if served(h, e.pid) {
			c.Happened = append(c.Happened, residue.ShimKilledServing)
		}
	}
	return c
}

// served reports whether a shim received Create, and so had listened on its socket.
func served(h *run, pid int) bool {
	for _, hit := range h.Hits {
		if hit.Who == "shim" && hit.PID == pid && hit.ParsedPoint().What == "Task.Create" {
			return true
		}
	}
	return false
}
