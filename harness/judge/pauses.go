package judge

import (
	"strconv"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

const (
	taskPaused  = "PAUSED"
	taskRunning = "RUNNING"
)

// pauses: a container whose pause has succeeded stands still and is called paused, one
// that was resumed goes on and is called running, and each is told of once. An exec that
// it has refused meanwhile can be added then.
func pauses(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
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
	found []oracle.Finding
}

func (x *pauseOf) find(invariant oracle.Invariant, class oracle.Class, fs oracle.Facts) {
	x.found = append(x.found, oracle.Finding{Invariant: invariant, Class: class, Facts: fs,
		Subject: oracle.Subject{ID: x.i.ID, PID: int(x.i.PID)}})
}

// disturbed reports whether the payload may have stood still, or have ended, for another
// reason, or who tells of it may have.
func (x *pauseOf) disturbed() bool {
	return faultKilled(x.h, *x.i) || held(x.h, *x.i)
}

func (x *pauseOf) states() {
	p := x.i.Pause
	x.called(oracle.PausedAs, p.Paused, p.PausedAs, taskPaused)
	x.called(oracle.ResumedAs, p.Resumed, p.ResumedAs, taskRunning)
	if !p.Paused.IsZero() && p.Beats > 0 {
		x.find(oracle.Liveness, oracle.ClassContainer, oracle.Facts{
			oracle.FactWhat: oracle.PausedRuns, oracle.FactCount: strconv.Itoa(p.Beats)})
	}
	if !p.Resumed.IsZero() && p.Beat.IsZero() {
		x.find(oracle.Liveness, oracle.ClassContainer, oracle.Facts{
			oracle.FactWhat: oracle.ResumedStands, oracle.FactBound: p.Patience.String()})
	}
	if p.Exec != nil && p.ExecAgain != nil {
		x.find(oracle.Liveness, oracle.ClassContainer, oracle.Facts{
			oracle.FactWhat: oracle.ExecBurnt, oracle.FactError: p.ExecAgain.Text})
	}
}

// called compares what containerd calls a task with what it is. With a fault it need not
// answer.
func (x *pauseOf) called(what string, since time.Time, as, want string) {
	if since.IsZero() || as == want || as == "" && !x.h.Case.Faultless() {
		return
	}
	if as == "" {
		as = oracle.None
	}
	x.find(oracle.Liveness, oracle.ClassContainer, oracle.Facts{oracle.FactWhat: what, oracle.FactTask: as})
}

// events: each comes once. What a shim has not sent dies with it.
func (x *pauseOf) events() {
	p := x.i.Pause
	seen, _, _ := x.h.FirstUse()
	for _, d := range []ofShim{
		{oracle.TopicPaused, p.Begun, p.Paused}, {oracle.TopicResumed, p.Begun, p.Resumed},
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
			x.find(oracle.Event, oracle.ClassEvent, oracle.Facts{
				oracle.FactEvent: oracle.Repeated, oracle.FactTopic: d.topic})
		case count == 0 && lost:
			x.find(oracle.Event, oracle.ClassEvent, fs)
		}
	}
}
