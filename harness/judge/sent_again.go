package judge

import (
	"time"

	"github.com/shimquake/shimquake/harness"
)

// sendAgainIn is how long a shim may take until an event is sent that it could not send
// when containerd was down: it waits for a second (pkg/shim/publisher.go of v2.4.2), and
// for two when that fails.
const sendAgainIn = 2500 * time.Millisecond

// sentAgainBy is when the shim of a container that has ended has surely told of that
// again: containerd was down, and has taken nothing from the shim between the end and
// then, so that the shim still has the event; and the shim lived, and was not asked to
// exit, until after that. The zero time: that is not so, or not known.
func sentAgainBy(h *harness.History, i harness.Instance, end time.Time) time.Time {
	served := shimsOf(h, i.ID)
	if end.IsZero() || len(served) != 1 || held(h, i) {
		return time.Time{}
	}
	by := time.Time{}
	for _, d := range downs(h) {
		if d.To.IsZero() {
			return time.Time{}
		}
		if d.To.After(end) {
			by = d.To.Add(sendAgainIn)
		}
	}
	if by.IsZero() {
		return by
	}
	for _, hit := range h.Hits {
		if !served[hit.PID] || hit.Who != "shim" || hit.Time.Before(end) || hit.Time.After(by) {
			continue
		}
		switch hit.Point {
		case "rpc:shim:Task.Shutdown:entry":
			return time.Time{}
		case "rpc:shim:Events.Forward:exit":
			if hit.Err == "" {
				return time.Time{}
			}
		}
	}
	if h.Done.Before(by) {
		return time.Time{}
	}
	return by
}
