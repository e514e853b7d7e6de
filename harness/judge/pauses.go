package judge

import (
	"strconv"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

const (
	taskPaused  = "PAUSED"
	taskRunning = "RUNNING"
)

// pauses: a container whose pause has succeeded stands still and is called paused, one
// that was resumed goes on and is called running, and each is told of once. An exec that
// it has refused meanwhile can be added then.
func pauses(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	for n := range h.Instances {
		i := &h.Instances[n]
		if i.Pause == nil {
			continue
		}
		x := pauseOf{h, i, nil}
		if !x.disturbed() {
			x.states()
		}
		x.events()
		found = append(found, x.found...)
	}
	return found, nil
}

type pauseOf struct {
	h     *harness.History
	i     *harness.Instance
	found []finding.Finding
}

func (x *pauseOf) find(invariant finding.Invariant, class finding.Class, fs fact.Facts) {
	x.found = append(x.found, finding.Finding{Invariant: invariant, Class: class, Facts: fs,
		Subject: finding.Subject{ID: x.i.ID, PID: int(x.i.PID)}})
}

// disturbed reports whether the payload may have stood still, or have ended, for another
// reason, or who tells of it may have.
func (x *pauseOf) disturbed() bool {
	return faultKilled(x.h, *x.i) || held(x.h, *x.i)
}

func (x *pauseOf) states() {
	p := x.i.Pause
	x.called("pause", p.Paused, p.PausedAs, taskPaused)
	x.called("resume", p.Resumed, p.ResumedAs, taskRunning)
	if !p.Paused.IsZero() && p.Beats > 0 {
		x.find(finding.Liveness, finding.ClassContainer, fact.Facts{
			fact.What: fact.PausedRuns, fact.Count: strconv.Itoa(p.Beats)})
	}
	if !p.Resumed.IsZero() && p.Beat.IsZero() {
		x.find(finding.Liveness, finding.ClassContainer, fact.Facts{
			fact.What: fact.ResumedStands, fact.Bound: p.Patience.String()})
	}
	if p.Exec != nil && p.ExecAgain != nil {
		x.find(finding.Liveness, finding.ClassContainer, fact.Facts{
			fact.What: fact.ExecTaken, fact.Task: taskPaused, fact.Error: p.ExecAgain.Text})
	}
}

// called compares what containerd calls a task after a call with what it is. With a fault
// it need not answer.
func (x *pauseOf) called(call string, since time.Time, as, want string) {
	if since.IsZero() || as == want || as == "" && !x.h.Case.Faultless() {
		return
	}
	if as == "" {
		as = fact.None
	}
	x.find(finding.Liveness, finding.ClassContainer, fact.Facts{
		fact.What: fact.StateAs, fact.Call: call, fact.Task: as})
}

// events: each comes once. What a shim has not sent dies with it.
func (x *pauseOf) events() {
	p := x.i.Pause
	seen, _, _ := x.h.FirstUse()
	for _, d := range []ofShim{
		{event.TopicPaused, p.Begun, p.Paused}, {event.TopicResumed, p.Begun, p.Resumed},
	} {
		count := 0
		for _, e := range seen {
			if e.Container == x.i.ID && e.Topic == d.topic {
				count++
			}
		}
		fs, lost := d.lost(x.h, *x.i)
		switch {
		case count > 1:
			x.find(finding.Event, finding.ClassEvent, fact.Facts{
				fact.Event: fact.Repeated, fact.Topic: d.topic})
		case count == 0 && lost:
			x.find(finding.Event, finding.ClassEvent, fs)
		}
	}
}
