package judge

import (
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/model"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// observations: each state that CRI reports for a pod or a container is possible at
// that time. Its times match the calls and the payload's end, and its reason fits
// its exit code. A time, exit code or reason does not change in a later response.
// CRI's lists have the objects that containerd has.
func observations(h *run) (found []finding.Finding, problems []harness.Problem) {
	if h.CRI == nil {
		return nil, nil
	}
	for _, r := range append(podReports(h), containerReports(h)...) {
		is, why := r.Wrong()
		switch {
		case r.err != nil && !r.Faulty:
			found = append(found, about(r.object, r.id, fact.FieldState, fact.NotSet, r.err.Said, "the object exists"))
		case r.err != nil || is == "":
		default:
			found = append(found, r.finding(is, why))
		}
	}
	lists, problems := listedObjects(h)
	return slices.Concat(uniqueCauses(slices.Concat(found, attributes(h))), lists), problems
}

// stateReport is a report of CRI about the state of a sandbox or a container.
type stateReport struct {
	object, id string
	err        *callerr.Failed // why CRI could not report it
	byStop     bool            // the success of a stop reported the end
	model.Report
}

// finding returns the finding about an impossible report.
func (r stateReport) finding(is string, why model.Moment) finding.Finding {
	switch {
	case r.byStop:
		return about(r.object, r.id, fact.FieldState, is, "that it is stopped",
			fmt.Sprintf("%s %s later", why.What, why.At.Sub(r.Answered)))
	case !why.At.IsZero():
		why.What += " at " + stamp(why.At)
	}
	f := about(r.object, r.id, fact.FieldState, is, r.State, why.What)
	if r.Listed {
		f.Facts[fact.What] = fact.Listing
	}
	return f
}

// podReports returns the reports about sandboxes, and the listed states of all objects.
func podReports(h *run) (all []stateReport) {
	add := func(object, id string, err *callerr.Failed, r model.Report) {
		r.Answered = latest(r.Asked, r.Answered)
		r.Faulty = tolerated(h, stateReported, until(r.Answered))
		all = append(all, stateReport{object: object, id: id, err: err, Report: r})
	}
	for _, s := range h.CRI.Sandboxes {
		add(fact.ASandbox, s.ID, s.Err, model.Report{State: s.State, Asked: s.At, Answered: s.Answered, Ran: true,
			Stopped: s.Stopped, Lost: lostBeforeStart(h, s.At)})
	}
	for _, s := range h.CRI.Unanswered {
		add(fact.ASandbox, s.ID, nil, model.Report{State: s.State, Asked: s.At, Answered: s.Answered,
			HalfMade: halfMade(h, s)})
	}
	for _, s := range h.CRI.States {
		sandbox := s.Object == fact.ASandbox
		add(s.Object, s.ID, nil, model.Report{State: s.State, Listed: true, Asked: s.At, Answered: s.Answered,
			Ran: sandbox, Stopped: sandbox && s.Stopped, ExitReported: !sandbox && exitReported(h, s)})
	}
	return all
}

// halfMade reports whether the shim of a sandbox had created the sandbox's init, and had
// not begun to start it.
func halfMade(h *run, s harness.SandboxSeen) bool {
	did := func(at string) bool {
		for hit := range h.callsOf(s.ID, at) {
			return hit.Time.Before(s.Answered)
		}
		return false
	}
	return did("shim:Task.Create:exit") && !did("shim:Task.Start:entry")
}

// exitReported reports whether ContainerStatus had reported the exit of a container
// before a list. It returns false if a fault may have kept containerd from storing the
// exit.
func exitReported(h *run, s harness.CRIState) bool {
	answered := latest(s.At, s.Answered)
	removed, gone := h.CRI.DoneAt("RemoveContainer", s.ID)
	return (!gone || removed.After(answered)) && !tolerated(h, reportWritten, until(answered)) &&
		slices.ContainsFunc(slices.Concat(h.CRI.Statuses, h.CRI.NotStarted), func(o criview.Status) bool {
			return o.ID == s.ID && o.State == criview.Exited && !o.Seen.After(s.At)
		})
}

// containerReports returns the statuses of containers, and the successful stops. A client
// asks for the status of a container until the container has exited. Only the last status
// must report the exit.
func containerReports(h *run) (all []stateReport) {
	add := func(s criview.Status, r model.Report) {
		r.State, r.Asked, r.Answered = s.State, s.Asked, s.Seen.Add(clockTolerance)
		r.Faulty = tolerated(h, stateReported, until(s.Seen))
		all = append(all, stateReport{object: fact.AContainer, id: s.ID, Report: r})
	}
	for n, s := range h.CRI.Statuses {
		p, _ := processOf(h, s.ID, "")
		at, _ := stoppedAt(h, p.i)
		stop := model.Moment{What: stopVerb(p.i) + " succeeded", At: at}
		r := model.Report{Back: lastUp(h, s.Asked)}
		// The history merges equal statuses into one with the time of the last request. So it
		// does not show whether the container had ended between two stops.
		if _, once := stopOf(h, p.i); once && !tolerated(h, stopEnds, span{at, s.Asked}) {
			r.Stop = stop
		}
		if !slices.ContainsFunc(h.CRI.Statuses[n+1:], func(o criview.Status) bool { return o.ID == s.ID }) {
			r.Ended = p.i.Payload.ExitedAt
			r.EndedBy = model.Moment{What: "it ended", At: r.Ended}
			if r.Ended.IsZero() {
				r.EndedBy = stop
			}
		}
		add(s, r)
	}
	for _, s := range h.CRI.NotStarted {
		_, known := processOf(h, s.ID, "")
		add(s, model.Report{StartFailed: known})
	}
	for _, i := range h.Instances {
		if at, ok := stoppedAt(h, i); ok && !tolerated(h, stopEnds, span{}) {
			all = append(all, stateReport{object: fact.AContainer, id: i.ID, byStop: true,
				Report: model.Report{State: criview.Exited, Answered: at, Ended: i.Payload.ExitedAt}})
		}
	}
	return all
}
