package judge

import (
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/check"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/residue"
)

// restart: a containerd with nothing to load answers again within the bound.
func restart(h *harness.History) ([]finding.Finding, []harness.Problem) {
	if h.Restart == nil || h.Restart.Err == nil {
		return nil, nil
	}
	return []finding.Finding{
		{Invariant: finding.Liveness, Class: finding.ClassDaemon, Facts: h.Restart.Err.Facts(fact.ARestart).With(
			fact.Facts{fact.Bound: h.Restart.Bound.String()})},
	}, nil
}

// reuse: the id can be used again, and that leaves nothing either.
func (known excuses) reuse(h *harness.History) ([]finding.Finding, []harness.Problem) {
	switch {
	case h.Reuse == nil:
		return nil, nil
	case h.Reuse.Err != nil && h.MachineCannot():
		return nil, problem(harness.ByLook, fmt.Sprintf("the first id cannot be used again (%s), and on %s the workload %s",
			h.Reuse.Err.Text, h.Reference.Version, "does not work either: "+h.Reference.Why))
	case h.Reuse.Err != nil:
		return []finding.Finding{
			{Invariant: finding.Liveness, Class: finding.ClassContainer, Facts: h.Reuse.Err.Facts(fact.IDReuse)},
		}, nil
	case h.Reuse.After == nil || !looked(h):
		return nil, nil
	}
	l := h.Reuse.After
	if l.Inventory == nil {
		text := "containerd did not come up"
		if l.Asked != nil {
			text = l.Asked.Text
		}
		return nil, problem(harness.ByLook, text)
	}
	left := residue.Mark(known, compare.Leaks(*h.After.Inventory, *l.Inventory), conditions(h, l.At))
	// What was left before may serve the second use, and be connected anew for it.
	owed := compare.Owed(compare.Leaks(*h.Before, *h.After.Inventory))
	return slices.DeleteFunc(left, func(f finding.Finding) bool {
		return f.Invariant == finding.Residue || owed && f.Class == finding.ClassHandle
	}), nil
}

// secondUse: what is told of the second use of an id is told of that, and not of the
// first: its status, its pid, and a time since it was asked for.
func secondUse(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if h.Reuse == nil || h.Reuse.Err != nil || h.Reuse.Use.ID == "" || h.Reuse.After == nil || h.Flushed == nil {
		return nil, nil
	}
	u := h.Reuse.Use
	told := slices.DeleteFunc(
		slices.Concat(h.Reported[h.Flushed.Reported:], exit.OfEvents(h.Events[h.Flushed.Events:])),
		func(o exit.Observation) bool {
			late := o.Observer == exit.ByTaskExit || o.Observer == exit.ByTaskDelete
			return o.Container != u.ID || o.Exec != "" || late && ofFirst(h, o.Container, o.PID)
		},
	)
	found, _ = exit.Wrong([]exit.Truth{{Container: u.ID, Status: u.Want}}, told, nil) // there is one truth
	for _, o := range told {
		find := func(status string, fs fact.Facts) {
			fs[fact.By], fs[fact.Status] = string(o.Observer), status
			found = append(found, finding.Finding{Invariant: finding.Exit, Class: finding.ClassExitCode, Facts: fs,
				Subject: finding.Subject{ID: u.ID, PID: o.PID}})
		}
		if o.PID != int(u.PID) {
			find(fact.WrongPID, fact.Facts{fact.Reported: fmt.Sprint(o.PID), fact.True: fmt.Sprint(u.PID)})
		}
		if fs, wrong := check.WrongEnd(o.At, u.From, h.Reuse.After.At); wrong {
			find(fact.WrongTime, fs)
		}
	}
	for n := range found {
		found[n].Facts[fact.Use] = fact.Second
	}
	return found, nil
}

// ofFirst reports whether an event is of a container's first use: it has its pid. A
// client's answer never is, which is of the task that it has asked about.
func ofFirst(h *harness.History, id string, pid int) bool {
	return slices.ContainsFunc(h.Instances, func(i harness.Instance) bool {
		return i.PID != 0 && i.ID == id && int(i.PID) == pid
	})
}

// lateExits: no wrong exit status comes in events that arrive when everything has
// settled. A containerd that cleans up after a dead shim removes the bundle first and
// tells of the exit afterwards (cleanupAfterDeadShim, core/runtime/v2/shim.go of v2.4.2),
// so that a world can look clean while a made-up status is still to come. Events of the
// id's second life have another pid.
func lateExits(h *harness.History) ([]finding.Finding, []harness.Problem) {
	if !settled(h) || h.Reuse == nil {
		return nil, nil
	}
	first := slices.DeleteFunc(slices.Clone(h.Events[h.Flushed.Events:]), func(e event.Task) bool {
		return e.Exec != "" || !ofFirst(h, e.Container, e.PID)
	})
	truths, _, _ := ledger(h)
	wrong, _ := exit.Wrong(truths, exit.OfEvents(first), nil) // what is not known of them exits tells
	return wrong, nil
}
