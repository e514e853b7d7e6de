package judge

import (
	"strconv"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// monitoredAs is what the restart monitor is to make of a container: what its task is
// called then, "" of none, and whether that is another, which the monitor has made.
var monitoredAs = map[harness.Done]struct {
	as           string
	anew, itsJob bool
}{
	harness.DonePause:    {as: taskPaused},
	harness.DoneResume:   {as: taskRunning},
	harness.DoneKill:     {as: taskRunning, anew: true, itsJob: true},
	harness.DoneKillMore: {as: taskStopped},
	harness.DoneAllow:    {as: taskRunning, anew: true, itsJob: true},
	harness.DoneStop:     {as: "", anew: true, itsJob: true},
}

// monitored: without a fault the restart monitor starts a task anew that its container's
// labels say is to run, and stops one that is not to, in time; it does nothing to one
// that is as it should be, that is paused, or that was started anew as often as it may
// be; and one shim serves it.
func monitored(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if h.Monitored == nil || !h.Case.Faultless() || len(h.Deaths) > 0 {
		return nil, nil
	}
	for _, w := range h.Monitored.Watched {
		find := func(what string, fs oracle.Facts) {
			fs[oracle.FactWhat], fs[oracle.FactCall] = what, string(w.Done)
			found = append(found, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassContainer,
				Subject: oracle.Subject{ID: h.Monitored.ID, PID: int(w.PID)}, Facts: fs})
		}
		want := monitoredAs[w.Done]
		switch {
		case w.Err != nil:
			find(oracle.MonitoredAs, oracle.Facts{oracle.FactTask: oracle.None, oracle.FactTrue: noneOf(want.as),
				oracle.FactError: w.Err.Text})
		case want.itsJob && w.Reached.IsZero():
			find(oracle.MonitoredLate, oracle.Facts{oracle.FactBound: h.Monitored.Patience.String()})
		case w.As != want.as:
			find(oracle.MonitoredAs, oracle.Facts{oracle.FactTask: noneOf(w.As), oracle.FactTrue: noneOf(want.as)})
		case want.anew == (w.PID == w.Before):
			find(oracle.MonitoredPID, oracle.Facts{oracle.FactReported: strconv.Itoa(int(w.PID)),
				oracle.FactTrue: strconv.Itoa(int(w.Before))})
		case w.Shims != nil && (w.As == "") != (len(w.Shims) == 0), len(w.Shims) > 1:
			find(oracle.MonitoredShims, oracle.Facts{oracle.FactCount: strconv.Itoa(len(w.Shims))})
		}
	}
	return found, nil
}

// noneOf is a state in words.
func noneOf(as string) string {
	if as == "" {
		return oracle.None
	}
	return as
}
