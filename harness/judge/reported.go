package judge

import (
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/exit"
)

// shimProcess is a container's init, or an exec, in one shim.
type shimProcess struct {
	pid      int
	id, exec string
}

// stateCalls tells whether the status in a response to State is an exit status.
type stateCalls struct {
	pending int  // the State calls that the shim is handling
	exited  bool // Wait has returned an exit status
	settled bool // all State calls that began before Wait returned have returned
}

// reportedByShims returns the exit statuses in the responses of shims: to each Delete,
// and to each State that began after the response to Wait. An earlier State may be about
// a running process, which has status 0 too.
func reportedByShims(hits []failpoints.Hit) (reported []exit.Observation) {
	states := map[shimProcess]*stateCalls{}
	for n := range hits {
		h := &hits[n]
		if h.Who != "shim" || h.ID == "" {
			continue
		}
		key := shimProcess{h.PID, h.ID, h.ExecID}
		s := states[key]
		if s == nil {
			s = &stateCalls{}
			states[key] = s
		}
		add := func(is bool, by exit.Observer) {
			if is && h.Status != nil {
				reported = append(reported, exit.Observation{Container: h.ID, Exec: h.ExecID, Observer: by,
					Status: *h.Status, PID: int(h.ReplyPID)})
			}
		}
		switch h.Point {
		case "rpc:shim:Task.Delete:exit":
			add(true, exit.ByShimDelete)
		case "rpc:shim:Task.Wait:exit":
			s.exited = s.exited || h.Status != nil && h.Err == ""
		case "rpc:shim:Task.State:entry":
			s.pending++
		case "rpc:shim:Task.State:exit":
			s.pending--
			add(s.settled && h.Err == "", exit.ByShimState)
		}
		s.settled = s.settled || s.exited && s.pending == 0
	}
	return reported
}

// reportedBySync returns the exit statuses in the responses to ExecSync. They have no
// time.
func reportedBySync(h *run) (all []exit.Observation) {
	for _, i := range h.Instances {
		for _, e := range i.Execs {
			if e.Sync == nil || e.Sync.Err != nil || e.Sync.Answered.IsZero() {
				continue
			}
			for _, by := range observersOfSync(e) {
				all = append(all, exit.Observation{Container: i.ID, Exec: e.Called(), Observer: by,
					Status: e.Sync.Status, PID: int(e.PID)})
			}
		}
	}
	return all
}

// observersOfSync returns the observers that report the exit of an exec by CRI. If it
// timed out, or its client closed the connection, only its event reports the exit.
func observersOfSync(e harness.Exec) []exit.Observer {
	switch {
	case e.Timed(), !e.Sync.Broke.IsZero():
		return nil
	case e.Sync.Streamed:
		return []exit.Observer{exit.ByExecStream}
	}
	return []exit.Observer{exit.ByExecSync}
}
