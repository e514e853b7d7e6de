package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/containerd/containerd/api/types/task"
	"google.golang.org/grpc/codes"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// calls: Wait returns after the exit. State gets a response while another call takes
// long. containerd refuses to start a command that does not exist. ExecSync returns the
// exit status, or an error after its timeout, and leaves nothing. containerd does not
// have a deleted exec any more. A signal for a process that has ended does not reach the
// next process with its pid. A call that a fault may have broken is not judged.
func calls(h *run) (found []finding.Finding, _ []harness.Problem) {
	found = append(waitsForever(h), notAnswered(h)...)
	for _, in := range h.PIDReuses {
		if of, _ := harness.ObjectNamed(in.Of); in.Killed {
			s := subjectOf(of)
			s.PID = in.PID
			found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassContainer, Subject: s,
				Facts: ofExec(s.Exec, fact.Facts{fact.What: fact.KillHitsAnother})})
		}
	}
	if !looked(h) {
		return found, nil
	}
	faulty := tolerated(h, objectKept, until(h.After.At))
	for _, p := range processes(h) {
		if fs, began := p.beganInVain(); began && !faulty {
			found = append(found, p.failed(fs))
		}
		if p.e != nil {
			found = append(found, p.wrongExec()...)
		}
	}
	return found, nil
}

// answerIn is how long a Wait may take to return after the exit. containerd cleans up
// after a dead shim within 5 s (shim.cleanup of [timeouts]).
const answerIn = 6 * time.Second

// waitsForever returns the Waits of a script that did not return after the exit.
func waitsForever(h *run) (found []finding.Finding) {
	given := []string{codes.DeadlineExceeded.String(), codes.Canceled.String()}
	for _, c := range h.Calls {
		if c.Step == 0 || c.Verb != "wait" || c.Err == nil || !slices.Contains(given, c.Err.Code) {
			continue
		}
		returned := c.At.Add(c.Took)
		p, over := ended(h, c.Of)
		if toleratedOf(h, waitReturns, p.i, span{c.At, returned}) {
			continue
		}
		if had := returned.Sub(latest(over, c.At)); !over.IsZero() && had >= answerIn {
			found = append(found, p.failed(
				fact.Facts{fact.What: fact.WaitUnanswered, fact.Bound: had.Round(time.Second).String()}))
		}
	}
	return found
}

// ended returns the process that a Wait is for, and when it ended. An exec that does not
// exist counts as ended when its start was refused. The time is zero if the process did
// not end.
func ended(h *run, of string) (p process, over time.Time) {
	id, exec, _ := strings.Cut(of, "/")
	p, ok := processOf(h, id, exec)
	switch {
	case !ok:
		return p, time.Time{}
	case exec == "":
		return p, endOf(h, p.i)
	case p.e != nil && !p.e.Absent:
		return p, p.over()
	}
	for _, c := range h.Calls {
		if c.Verb == "start" && c.Of == of && c.Err != nil {
			over = c.At.Add(c.Took)
		}
	}
	return p, over
}

// notAnswered returns the requests for a task's state that got no response, or the
// response UNKNOWN. Every other error is a response.
func notAnswered(h *run) (found []finding.Finding) {
	for _, a := range h.AskedWhile {
		late := a.Err != nil && a.Err.Code == codes.DeadlineExceeded.String() ||
			a.Err == nil && a.As == task.Status_UNKNOWN.String()
		if !late || tolerated(h, stateAnswered, span{a.At, a.At.Add(a.Took)}) {
			continue
		}
		said := a.As
		if a.Err != nil {
			said = a.Err.Text
		}
		found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassContainer,
			Subject: finding.Subject{ID: a.Of}, Facts: fact.Facts{fact.What: fact.AskedUnanswered,
				fact.Call: a.PausedAt, fact.Apart: a.Took.Round(time.Millisecond).String(), fact.Error: said}})
	}
	return found
}

// isAbsent reports whether the command of a process does not exist.
func (p process) isAbsent() bool {
	return p.e == nil && p.i.Spec.NoSuchCommand || p.e != nil && p.e.Absent
}

// beganInVain reports whether a call succeeded in starting a command that does not exist.
// It returns the facts of that call.
func (p process) beganInVain() (fact.Facts, bool) {
	call, began := "create", !p.i.Created.IsZero()
	switch {
	case p.e != nil && p.e.Sync != nil:
		call, began = "ExecSync", !p.e.Sync.Answered.IsZero() && p.e.Sync.Err == nil
	case p.e != nil:
		call, began = "start", !p.e.Started.IsZero()
	case p.h.Case.Workload.API == harness.CRI:
		call, began = "StartContainer", !p.i.Started.IsZero()
	}
	return fact.Facts{fact.What: fact.AbsentBegun, fact.Call: call}, began && p.isAbsent()
}

// refusal reports whether a call failed as it must: its command does not exist, and the
// error names it.
func refusal(h *run, c harness.Call) bool {
	return c.Err != nil && namesAbsent(c.Err.Text) && slices.ContainsFunc(h.Instances, func(i harness.Instance) bool {
		return (c.Of == i.Name || c.Of == i.ID) && (i.Spec.NoSuchCommand ||
			slices.ContainsFunc(i.Spec.Execs, func(e harness.ExecSpec) bool { return e.NoSuchCommand }))
	})
}

// namesAbsent reports whether an error names the command that does not exist.
func namesAbsent(text string) bool { return strings.Contains(text, harness.AbsentCommand) }

// wrongExec returns the findings about the deletion of an exec, and about its ExecSync.
func (p process) wrongExec() (found []finding.Finding) {
	add := func(fs fact.Facts) {
		found = append(found, p.find(finding.Liveness, finding.ClassDaemon, fs))
	}
	s := p.e.Sync
	broken := s != nil && p.syncBroken()
	if p.e.Kept != "" && !broken {
		add(fact.Facts{fact.What: fact.ExecKept, fact.Task: p.e.Kept})
	}
	if s == nil || s.Answered.IsZero() {
		return found
	}
	had := s.Answered.Sub(p.e.Begun)
	switch {
	case broken, !s.Broke.IsZero(): // a client that closed its connection gets no response
	case s.Err == nil && p.e.Timed():
		add(fact.Facts{fact.What: fact.ExecUntimed, fact.Bound: s.Timeout.String(), fact.Reported: fmt.Sprint(s.Status)})
	case s.Err == nil, p.e.Absent:
	case p.e.Timed() && s.Err.Code == codes.DeadlineExceeded.String():
		if had < s.Timeout-clockGrace {
			add(fact.Facts{fact.What: fact.ExecEarly, fact.Bound: s.Timeout.String(),
				fact.Apart: had.Round(time.Millisecond).String()})
		}
	case p.h.Fired(s.Answered) > 0: // rule baseline reports errors from before the first fault
		add(s.Err.Facts(fact.ExecFailed))
	}
	lives := fact.Facts{fact.What: fact.ExecLives, fact.Count: fmt.Sprint(s.Beats)}
	if s.Beats > 0 && p.e.Timed() {
		add(lives.With(fact.Facts{fact.After: fact.TimeOver}))
	}
	if s.Beats > 0 && p.e.Orphaned() && !broken {
		add(lives.With(fact.Facts{fact.After: fact.ClientGone}))
	}
	if broken {
		return found
	}
	for _, b := range s.Left {
		f := compare.OfFile(b.File, p.h.Before.Places)
		if b.Mount != "" {
			f = finding.Finding{Class: finding.ClassMount, Facts: fact.Facts{fact.MountType: b.Mount}}
			f.Subject.Path = b.Path
		}
		f.Invariant, f.Subject.ID, f.Subject.Exec = finding.Leak, p.i.ID, p.exec()
		f.Facts[fact.In], f.Facts[fact.Of] = fact.InRunningContainer, fact.AnExec
		found = append(found, f)
	}
	return found
}

// syncBroken reports whether a fault may have broken an ExecSync.
func (p process) syncBroken() bool {
	by := p.e.Sync.Answered
	if !p.e.Sync.Broke.IsZero() { // the exec runs on after its client closed the connection
		by = latest(by, p.i.Waited)
	}
	return p.e.Sync.Err != nil && p.e.Sync.Err.Code == codes.Canceled.String() ||
		toleratedOf(p.h, execWorks, p.i, span{p.e.Begun, by})
}
