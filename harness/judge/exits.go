package judge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// exits: every report of an exit has the real status, the pid of the process, and a time
// at which it can have ended. All reports of an exit have the same time. Without a fault
// Wait, Delete, the task's state, the events and CRI's status all report each exit. After
// a fault at least one does, if containerd is up. Reports about the second use of an id
// have no data of the first. Events that arrive after the final inventory are judged,
// too.
func exits(h *run) ([]finding.Finding, []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	var problems []harness.Problem
	for _, p := range processes(h) {
		if _, _, err := p.truth(); err != nil {
			problems = append(problems, problem(harness.ByTruth, err.Error())...)
		}
	}
	l := ledgerOf(h)
	wrong, err := l.wrong()
	if err != nil {
		problems = append(problems, problem(harness.ByTruth, err.Error())...)
	}
	found := circumstances(h, append(wrong, l.unreported()...))
	found = append(append(found, l.wrongTimes()...), l.differingTimes()...)
	return slices.Concat(found, secondUse(h), l.late()), problems
}

// ledger has the real exits, and all reports of them.
type ledger struct {
	h          *run
	truths     []exit.Truth
	reported   []exit.Observation
	neverBegan []string // The containers with a payload that never began.
}

func ledgerOf(h *run) ledger {
	l := ledger{h: h}
	if !looked(h) {
		return l
	}
	for _, p := range processes(h) {
		switch t, ran, err := p.truth(); {
		case ran && err == nil:
			l.truths = append(l.truths, t)
		case p.e == nil && p.i.ID != "" && err == nil:
			l.neverBegan = append(l.neverBegan, p.i.ID)
		}
	}
	all := slices.Concat(h.reported, reportedBySync(h), exit.OfEvents(h.events), reportedByShims(h.hits))
	for _, o := range all {
		if slices.ContainsFunc(l.truths, func(t exit.Truth) bool { return isOf(o, t) }) {
			l.reported = append(l.reported, o)
		}
	}
	return l
}

// isOf reports whether a report is about an exit.
func isOf(o exit.Observation, t exit.Truth) bool {
	return o.Container == t.Container && o.Exec == t.Exec
}

// wrong returns the reports with a wrong status.
func (l ledger) wrong() ([]finding.Finding, error) {
	var sent []exit.Sent
	for _, s := range l.h.Signals {
		sent = append(sent, exit.Sent{Container: s.Container, Signal: s.Signal, By: "the client"})
	}
	wrong, err := exit.Wrong(l.truths, l.reported, sent)
	return slices.DeleteFunc(wrong, func(f finding.Finding) bool {
		// After a reboot CRI reports 255 for an exit that nothing on the node knows.
		return f.Facts[fact.By] == string(exit.ByCRIStatus) && f.Facts[fact.Status] == fact.MadeUp255 &&
			lostWithNode(l.h, f.Subject.ID, f.Subject.Exec)
	}), err
}

// lostWithNode reports whether the node rebooted while perhaps only the shim knew the
// exit. Then no API can report the exit.
func lostWithNode(h *run, container, exec string) bool {
	p, ok := processOf(h, container, exec)
	if !ok {
		return false
	}
	from, to := p.unreportedWindow()
	return tolerated(h, exitKnown, span{from, to})
}

// reachable are the observers that a client of containerd can ask.
var reachable = []exit.Observer{
	exit.ByWait, exit.ByDelete, exit.ByTaskStatus, exit.ByTaskList, exit.ByTaskExit, exit.ByTaskDelete,
	exit.ByCRIStatus, exit.ByRestarted,
}

// unreported returns a finding for each exit that an observer had to report and did not.
func (l ledger) unreported() (found []finding.Finding) {
	if !settled(l.h) {
		return nil
	}
	for _, t := range l.truths {
		reports := func(by exit.Observer) bool {
			return slices.ContainsFunc(l.reported, func(o exit.Observation) bool { return isOf(o, t) && o.Observer == by })
		}
		var silent []exit.Observer
		switch {
		case !tolerated(l.h, allReport, span{}):
			silent = slices.DeleteFunc(slices.Clone(mustReport(l.h, t)), reports)
		case t.Exec == "" && !slices.ContainsFunc(reachable, reports) && !lostWithNode(l.h, t.Container, ""):
			silent = []exit.Observer{exit.ByNobody}
		}
		for _, by := range silent {
			found = append(found, wrongReport(exit.Observation{Container: t.Container, Exec: t.Exec, Observer: by},
				fact.Unreported, fact.Facts{fact.True: fmt.Sprint(t.Status), fact.Source: t.Source}))
		}
	}
	return found
}

// mustReport returns the observers that report an exit if there is no fault. The client
// of a script asks only as its steps say.
func mustReport(h *run, t exit.Truth) []exit.Observer {
	p, ok := processOf(h, t.Container, t.Exec)
	switch {
	case !ok || h.Case.Workload.ReusesIDs():
		return nil
	case p.e == nil:
		return p.i.MustTell
	case p.e.Sync != nil:
		return observersOfSync(*p.e)
	}
	return []exit.Observer{exit.ByWait, exit.ByTaskStatus, exit.ByDelete}
}

// wrongReport returns a finding about a report of an exit.
func wrongReport(o exit.Observation, status string, fs fact.Facts) finding.Finding {
	fs[fact.By], fs[fact.Status] = string(o.Observer), status
	return finding.Finding{Invariant: finding.Exit, Class: finding.ClassExitCode, Facts: ofExec(o.Exec, fs),
		Subject: finding.Subject{ID: o.Container, Exec: o.Exec, PID: o.PID}}
}

// wrongTimes returns the reports with another pid, or with an impossible time.
func (l ledger) wrongTimes() (found []finding.Finding) {
	for _, o := range l.h.reported {
		p, ok := processOf(l.h, o.Container, o.Exec)
		if !ok {
			continue
		}
		from, by := p.exitWindow()
		if by = minNonZero(l.h.After.At, by); !p.reportedTrue(o.Status) {
			from, by = p.i.Begun, l.h.After.At // a made-up exit has a made-up time
		}
		found = append(found, ofAnother(o, cmp.Or(int(p.pid()), o.PID), from, by)...)
	}
	return found
}

// ofAnother returns the findings about a report with another pid, or with a time outside
// of the possible times.
func ofAnother(o exit.Observation, pid int, notBefore, notAfter time.Time) (found []finding.Finding) {
	if o.PID != pid {
		found = append(found, wrongReport(o, fact.WrongPID,
			fact.Facts{fact.Reported: fmt.Sprint(o.PID), fact.True: fmt.Sprint(pid)}))
	}
	if fs, wrong := wrongExitTime(o.At, notBefore, notAfter); wrong {
		found = append(found, wrongReport(o, fact.WrongTime, fs))
	}
	return found
}

// differingTimes returns the reports of an exit that have another time than the first
// report. All have the time that the shim recorded. Only after a fault may they have the
// time at which containerd or a helper learned of the exit.
func (l ledger) differingTimes() (found []finding.Finding) {
	if l.h.Case.Workload.Fakeshim != "" || tolerated(l.h, exitTimeSame, until(l.h.After.At)) {
		return nil
	}
	for _, t := range l.truths {
		if l.lostWithShim(t) {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(l.reported), func(o exit.Observation) bool {
			return !isOf(o, t) || o.Status != t.Status || hasNoTime(o.At) || l.isImpossible(o)
		})
		if len(of) == 0 {
			continue
		}
		first := slices.MinFunc(of, func(a, b exit.Observation) int { return a.At.Compare(b.At) })
		for _, o := range of {
			if !o.At.Equal(first.At) {
				found = append(found, wrongReport(o, fact.OtherTime, fact.Facts{fact.At: precisely(o.At),
					fact.First: precisely(first.At), fact.Source: string(first.Observer)}))
			}
		}
	}
	return uniqueCauses(found)
}

// lostWithShim reports whether the recorded time of an exit may have died with the shim.
// A shim stores the exit of an init before it sends the event. From then on the helper of
// a dead shim reports the same time (WriteExitStatus of v2.4.2). Older releases store
// nothing, and their helpers report 137 with the time of the cleanup.
func (l ledger) lostWithShim(t exit.Truth) bool {
	by := l.h.After.At
	if sent := eventOf(l.h.Events, event.TopicExit, t.Container); t.Exec == "" && t.Status != killed && sent != nil {
		by = sent.Seen
	}
	return tolerated(l.h, exitTimeKept, until(by))
}

// isImpossible reports whether wrongTimes returns a report of an exit, so that the other
// reports are not compared with it.
func (l ledger) isImpossible(o exit.Observation) bool {
	p, _ := processOf(l.h, o.Container, o.Exec)
	from, by := p.exitWindow()
	if by.IsZero() {
		by = l.h.After.At
	}
	_, wrong := wrongExitTime(o.At, from, by)
	return wrong
}

// hasNoTime reports whether a report has no time, as a shim's response has none.
func hasNoTime(at time.Time) bool { return at.IsZero() || at.Unix() == 0 }

func precisely(at time.Time) string { return at.UTC().Format("15:04:05.000000000Z") }

// secondUse returns the reports of the second use of an id that have another status, pid
// or time.
func secondUse(h *run) (found []finding.Finding) {
	if h.Reuse == nil || h.Reuse.Err != nil || h.Reuse.Use.ID == "" || h.Reuse.After == nil || h.Flushed == nil {
		return nil
	}
	u := h.Reuse.Use
	reported := slices.DeleteFunc(
		slices.Concat(h.Reported[h.Flushed.Reported:], exit.OfEvents(h.Events[h.Flushed.Events:])),
		func(o exit.Observation) bool {
			late := o.Observer == exit.ByTaskExit || o.Observer == exit.ByTaskDelete
			return o.Container != u.ID || o.Exec != "" || late && ofFirstUse(h, o.Container, o.PID)
		},
	)
	found, _ = exit.Wrong([]exit.Truth{{Container: u.ID, Status: u.Want}}, reported, nil) // the real status is known
	for _, o := range reported {
		found = append(found, ofAnother(o, int(u.PID), u.From, h.Reuse.After.At)...)
	}
	for n := range found {
		found[n].Facts[fact.Use] = fact.Second
	}
	return found
}

// ofFirstUse reports whether an event has the pid of a container's first use.
func ofFirstUse(h *run, id string, pid int) bool {
	p, ok := processOf(h, id, "")
	return ok && p.i.PID != 0 && int(p.i.PID) == pid
}

// late returns the wrong statuses in events that arrive after the final inventory.
// containerd removes the bundle of a dead shim first and reports the exit afterwards
// (cleanupAfterDeadShim, core/runtime/v2/shim.go of v2.4.2). So a world can look clean
// while a made-up status is still to come.
func (l ledger) late() []finding.Finding {
	if !settled(l.h) || l.h.Reuse == nil {
		return nil
	}
	first := slices.DeleteFunc(slices.Clone(l.h.Events[l.h.Flushed.Events:]), func(e event.Task) bool {
		return e.Exec != "" || !ofFirstUse(l.h, e.Container, e.PID)
	})
	wrong, _ := exit.Wrong(l.truths, exit.OfEvents(first), nil) // the missing truths are problems already
	return wrong
}
