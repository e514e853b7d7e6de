package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// ends: each process ends as its workload says, unless the client, a fault or the death
// of its shim killed it. A stop by CRI waits for the grace period. When the shim reports
// the exit of an init, it has killed the init's children. The rule `exits` compares
// reports with the real end, so only this rule finds a wrong real end.
func ends(h *run) (found []finding.Finding, _ []harness.Problem) {
	if !looked(h) {
		return outlived(h), nil
	}
	for _, p := range processes(h) {
		if fs, wrong := p.wrongEnd(); wrong {
			found = append(found, p.find(finding.End, finding.ClassEnd, fs))
		}
	}
	found = circumstances(h, found)
	for _, i := range h.Instances {
		if fs, early := endedEarly(h, i); early {
			found = append(found, initOf(h, i).find(finding.End, finding.ClassEnd, fs))
		}
	}
	return append(found, outlived(h)...), nil
}

// wrongEnd reports whether a process ended otherwise than its workload says. It returns
// the facts of that end.
func (p process) wrongEnd() (fact.Facts, bool) {
	t, ran, err := p.truth()
	want, started := p.i.Spec.Want(), p.i.Started
	if p.e != nil {
		want, started = p.e.Want, p.e.Started
	}
	fs := fact.Facts{fact.Want: fmt.Sprint(want), fact.True: fmt.Sprint(t.Status), fact.Source: t.Source}
	asWanted := t.Status == want && (p.e != nil || !killedOtherwise(p.h, p.i))
	switch {
	case err != nil || p.i.ID == "" || (!ran || t.Status == killed) && p.mayBeKilled():
		return fact.Facts{}, false
	case started.IsZero() && (!ran || p.e != nil), ran && asWanted:
		return fact.Facts{}, false
	case !ran:
		return fact.Facts{fact.Status: fact.NeverBegan}, true
	case t.Status == killed && p.e != nil && p.e.Signal != 0 && p.e.Waited.After(p.e.Signalled.Add(p.e.Timeout)):
		fs[fact.Status], fs[fact.Bound] = fact.NotEnded, p.e.Timeout.String() // the client gave up and killed it
	case t.Status == killed || t.Status == want:
		fs[fact.Status] = fact.Killed
	default:
		fs[fact.Status] = fact.Wrong
	}
	return fs, true
}

// killedOtherwise reports whether a container has the right status from the wrong cause.
// Its payload did not reach its memory limit, or the kernel counted no OOM kill. Or the
// client did not send the signal.
func killedOtherwise(h *run, i harness.Instance) bool {
	if i.Spec.OOM == harness.OOMInit {
		return i.Payload.HoggedAt.IsZero() || !mayBeCounted(i)
	}
	return i.Spec.Signal != "" && !called(h, i, ending)
}

// mayBeKilled reports whether a process may have been killed, or kept from starting. The
// cause can be the client, a fault or the end of its container. It can also be a cleanup
// of containerd after a dead shim or a failed start.
func (p process) mayBeKilled() bool {
	if p.e == nil {
		undone := p.i.Started.IsZero() && !diedStarting(p.h, p.i) // containerd cleans up
		return undone || toleratedOf(p.h, processLives, p.i, span{}) || clientKilled(p.h, p.i) || killedWithChild(p.i)
	}
	by, exec := until(cmp.Or(p.e.Waited, p.h.After.At)), harness.Instance{ID: p.i.ID, PID: p.e.PID}
	// If its signal gets lost, the client kills it.
	lost := p.e.Signal != 0 && (p.e.Signalled.IsZero() || tolerated(p.h, signalArrives, by))
	return lost || p.e.Timed() && p.e.Payload.Runs == 0 || p.e.Orphaned() && p.e.Payload.Runs > 0 ||
		toleratedOf(p.h, execLives, p.i, by) || toleratedOf(p.h, execLives, exec, by) ||
		slices.ContainsFunc(p.h.Calls, func(c harness.Call) bool {
			return (isCall(c, p.i, ending) || c.Verb == "kill" && c.Of == p.i.ID+"/"+p.e.ID) && harness.Within(c.At, by.to)
		})
}

// killedWithChild reports whether the kernel OOM-killed more than the child of a
// container. On a busy machine it frees the memory of the child late, and kills the init
// next.
func killedWithChild(i harness.Instance) bool {
	return i.Spec.OOM == harness.OOMChild && i.OOMKills != nil && *i.OOMKills > 1
}

// diedStarting reports whether the client's Start failed only because containerd exited
// after the shim had started the container. Then containerd does not roll the start back,
// and the next containerd finds a running container.
func diedStarting(h *run, i harness.Instance) bool {
	for _, c := range slices.Backward(h.Calls) {
		if c.Who != "client" || c.Of != i.Name || harness.PathOf(c.Verb) != "start" {
			continue
		}
		started, returned := h.succeeded(i.ID, "Task.Start"), c.At.Add(c.Took)
		return c.Err != nil && !started.IsZero() && lostBetween(h, started, returned) &&
			!tolerated(h, objectKept, until(returned))
	}
	return false
}

// termGrace is shorter than the grace period of a stop, and longer than a payload needs
// to end after SIGTERM.
const termGrace = time.Second

// clockGrace is how far apart two processes may record the same moment.
const clockGrace = 50 * time.Millisecond

// endedEarly returns the facts of a stop by CRI that did not wait for its grace period.
// Either a container that ignores SIGTERM ended too early, or containerd reported that it
// did. Or containerd sent a second signal before the grace period was over.
func endedEarly(h *run, i harness.Instance) (fact.Facts, bool) {
	stop, once := stopOf(h, i)
	if h.CRI == nil || !once && !i.Spec.IgnoresTerm || stop.IsZero() || i.WithPod || i.Spec.Signal != "SIGTERM" ||
		toleratedOf(h, processLives, i, span{}) || clientKilled(h, i) {
		return fact.Facts{}, false
	}
	given, kill, status := termGrace, secondKill(h, i, stop), fact.KilledEarly
	if i.Spec.IgnoresTerm {
		given, kill = harness.StopGrace, overBy(h, i)
		reported := eventOf(h.Events, event.TopicExit, i.ID) != nil
		if kill.Equal(i.Waited) && !reported && endOf(h, i).IsZero() {
			status = fact.SaidEarly
		}
	}
	had := kill.Sub(stop)
	return fact.Facts{fact.Status: status, fact.Bound: given.String(),
		fact.Apart: had.Round(time.Millisecond).String()}, !kill.IsZero() && had < given-clockGrace
}

// secondKill returns when containerd asked a shim to send a second signal to a container
// before its recorded end, or the zero time.
func secondKill(h *run, i harness.Instance, stop time.Time) time.Time {
	kills := 0
	for hit := range h.callsOf(i.ID, "containerd:Task.Kill:entry") {
		if hit.Time.Before(stop) {
			continue
		}
		if kills++; kills == 2 && i.Payload.Exited && hit.Time.Before(i.Payload.ExitedAt) {
			return hit.Time
		}
	}
	return time.Time{}
}

// outlived returns the children that ran after their shim had reported the exit of the
// init.
func outlived(h *run) (found []finding.Finding) {
	if tolerated(h, childrenKilled, span{}) {
		return nil
	}
	for _, o := range h.Outlived {
		p, _ := processOf(h, o.Container, "")
		found = append(found, finding.Finding{
			Invariant: finding.Forgot, Class: finding.ClassProcess,
			Subject: finding.Subject{Namespace: daemon.TaskNamespace, ID: o.Container, PID: o.PID, Name: o.Name},
			Facts: fact.Facts{
				fact.Task: fact.TaskStopped, fact.TaskPID: strconv.Itoa(int(p.i.PID)), fact.Program: o.Name,
			},
		})
	}
	return found
}
