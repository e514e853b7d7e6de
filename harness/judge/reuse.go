package judge

import (
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// restart: a containerd with nothing to load answers again within the bound.
func restart(h *harness.History) ([]oracle.Finding, []harness.Problem) {
	if h.Restart == nil || h.Restart.Err == nil {
		return nil, nil
	}
	return []oracle.Finding{
		{Invariant: oracle.Liveness, Class: oracle.ClassDaemon, Facts: h.Restart.Err.Facts(oracle.ARestart).With(
			oracle.Facts{oracle.FactBound: h.Restart.Bound.String()})},
	}, nil
}

// reuse: the id can be used again, and that leaves nothing either.
func (known excuses) reuse(h *harness.History) ([]oracle.Finding, []harness.Problem) {
	switch {
	case h.Reuse == nil:
		return nil, nil
	case h.Reuse.Err != nil && h.MachineCannot():
		return nil, problem(harness.ByLook, fmt.Sprintf("the first id cannot be used again (%s), and on %s the workload %s",
			h.Reuse.Err.Text, h.Reference.Version, "does not work either: "+h.Reference.Why))
	case h.Reuse.Err != nil:
		return []oracle.Finding{
			{Invariant: oracle.Liveness, Class: oracle.ClassContainer, Facts: h.Reuse.Err.Facts(oracle.IDReuse)},
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
	left := oracle.Mark(known, oracle.Leaks(*h.After.Inventory, *l.Inventory), conditions(h, l.At))
	// What was left before may serve the second use, and be connected anew for it.
	owed := oracle.Owed(oracle.Leaks(*h.Before, *h.After.Inventory))
	return slices.DeleteFunc(left, func(f oracle.Finding) bool {
		return f.Invariant == oracle.Residue || owed && f.Class == oracle.ClassHandle
	}), nil
}

// secondUse: what is told of the second use of an id is told of that, and not of the
// first: its status, its pid, and a time since it was asked for.
func secondUse(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if h.Reuse == nil || h.Reuse.Err != nil || h.Reuse.Use.ID == "" || h.Reuse.After == nil || h.Flushed == nil {
		return nil, nil
	}
	u := h.Reuse.Use
	told := slices.DeleteFunc(
		slices.Concat(h.Reported[h.Flushed.Reported:], oracle.Reported(h.Events[h.Flushed.Events:])),
		func(o oracle.Observation) bool {
			late := o.Observer == oracle.ByTaskExit || o.Observer == oracle.ByTaskDelete
			return o.Container != u.ID || o.Exec != "" || late && ofFirst(h, o.Container, o.PID)
		},
	)
	found, _ = oracle.WrongExits([]oracle.Truth{{Container: u.ID, Status: u.Want}}, told, nil) // there is one truth
	for _, o := range told {
		find := func(status string, fs oracle.Facts) {
			fs[oracle.FactBy], fs[oracle.FactStatus] = string(o.Observer), status
			found = append(found, oracle.Finding{Invariant: oracle.Exit, Class: oracle.ClassExitCode, Facts: fs,
				Subject: oracle.Subject{ID: u.ID, PID: o.PID}})
		}
		if o.PID != int(u.PID) {
			find(oracle.WrongPID, oracle.Facts{oracle.FactReported: fmt.Sprint(o.PID), oracle.FactTrue: fmt.Sprint(u.PID)})
		}
		if fs, wrong := oracle.WrongEnd(o.At, u.From, h.Reuse.After.At); wrong {
			find(oracle.WrongTime, fs)
		}
	}
	for n := range found {
		found[n].Facts[oracle.FactUse] = oracle.Second
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

// orphaned: who dies with the shim of an id's second use is told of as of the first,
// where somebody could hear it.
func orphaned(h *harness.History) ([]oracle.Finding, []harness.Problem) {
	o := h.Orphan
	if o == nil ||
		slices.ContainsFunc(gaps(h), func(g oracle.Gap) bool { return g.Overlaps(o.At, o.Until) }) ||
		slices.ContainsFunc(h.Events, func(e oracle.TaskEvent) bool { return e.IsExitOf(o.ID, o.PID) }) {
		return nil, nil
	}
	return []oracle.Finding{{
		Invariant: oracle.Event, Class: oracle.ClassEvent, Subject: oracle.Subject{ID: o.ID, PID: o.PID},
		Facts: oracle.Facts{
			oracle.FactEvent: oracle.Missing, oracle.FactTopic: oracle.TopicExit, oracle.FactUse: oracle.Second,
		},
	}}, nil
}

// lateExits: no wrong exit status comes in events that arrive when everything has
// settled. A containerd that cleans up after a dead shim removes the bundle first and
// tells of the exit afterwards (cleanupAfterDeadShim, core/runtime/v2/shim.go of v2.4.2),
// so that a world can look clean while a made-up status is still to come. Events of the
// id's second life have another pid.
func lateExits(h *harness.History) ([]oracle.Finding, []harness.Problem) {
	if !settled(h) || h.Reuse == nil {
		return nil, nil
	}
	first := slices.DeleteFunc(slices.Clone(h.Events[h.Flushed.Events:]), func(e oracle.TaskEvent) bool {
		return e.Exec != "" || !ofFirst(h, e.Container, e.PID)
	})
	truths, _, _ := ledger(h)
	wrong, _ := oracle.WrongExits(truths, oracle.Reported(first), nil) // what is not known of them exits tells
	return wrong, nil
}
