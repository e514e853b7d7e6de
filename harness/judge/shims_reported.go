package judge

import (
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/oracle/exit"
)

// shimOf is a container's init, or an exec, in one shim process.
type shimOf struct {
	pid      int
	id, exec string
}

// state is how far a container's State can be read as an exit status.
type state struct {
	pending int  // State calls in the handler
	exited  bool // Wait has been answered with an exit status
	settled bool // and every State call from before then has been answered
}

// shimsReported reads exit statuses from hits, in their order: every reply to Delete, and
// the replies to State that a shim began to make when it had reported the exit by Wait.
// Earlier ones may be of a running container, whose status is 0 too.
func shimsReported(hits []failpoints.Hit) []exit.Observation {
	var reported []exit.Observation
	states := map[shimOf]*state{}
	tells := func(h failpoints.Hit, by exit.Observer) {
		reported = append(reported, exit.Observation{
			Container: h.ID, Exec: h.ExecID, Observer: by, Status: *h.Status, PID: int(h.ReplyPID)})
	}
	for _, h := range hits {
		if h.Who != "shim" || h.ID == "" {
			continue
		}
		key := shimOf{h.PID, h.ID, h.ExecID}
		s := states[key]
		if s == nil {
			s = &state{}
			states[key] = s
		}
		switch h.Point {
		case "rpc:shim:Task.Delete:exit":
			if h.Status != nil {
				tells(h, exit.ByShimDelete)
			}
		case "rpc:shim:Task.Wait:exit":
			if h.Status != nil && h.Err == "" {
				s.exited = true
			}
		case "rpc:shim:Task.State:entry":
			s.pending++
		case "rpc:shim:Task.State:exit":
			s.pending--
			if s.settled && h.Status != nil && h.Err == "" {
				tells(h, exit.ByShimState)
			}
		}
		s.settled = s.settled || s.exited && s.pending == 0
	}
	return reported
}
