package judge

import (
	"fmt"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// alive: containerd boots, lists its objects, responds to a simple request in time,
// collects garbage on request, and restarts within its bound. The client removes
// everything within its deadline, and can use the first container's id again. If the
// harness could not take its inventory, but containerd neither refused nor hung, the run
// is invalid.
func alive(h *run) ([]finding.Finding, []harness.Problem) {
	found, problems := removed(h), []harness.Problem(nil)
	f, p := responds(h, h.After)
	found, problems = append(found, f...), append(problems, p...)
	if h.Restart != nil && h.Restart.Err != nil {
		found = append(found, unalive(finding.ClassDaemon, h.Restart.Err.Facts(fact.ARestart).With(
			fact.Facts{fact.Bound: h.Restart.Bound.String()})))
	}
	f, p = reused(h)
	return append(found, f...), append(problems, p...)
}

func unalive(class finding.Class, fs fact.Facts) finding.Finding {
	return finding.Finding{Invariant: finding.Liveness, Class: class, Facts: fs}
}

// removed returns a finding if the client could not remove everything.
func removed(h *run) []finding.Finding {
	if h.Removal == nil {
		return nil
	}
	fs := h.Removal.Facts(fact.Removal)
	if fs[fact.Object] = fact.AContainer; h.Case.Workload.API == harness.CRI {
		fs[fact.Object] = fact.APod
	}
	return []finding.Finding{unalive(finding.ClassContainer, fs)}
}

// responds returns a finding if containerd did not boot, list its objects, respond or
// collect garbage while the oracle took an inventory.
func responds(h *run, l *harness.Inspection) ([]finding.Finding, []harness.Problem) {
	if l == nil {
		return nil, nil
	}
	found := func(class finding.Class, fs fact.Facts) ([]finding.Finding, []harness.Problem) {
		return []finding.Finding{unalive(class, fs)}, nil
	}
	var uncollected *callerr.Failed
	if l.Inventory != nil {
		uncollected = l.Inventory.Uncollected
	}
	hangs := l.Answer != nil && l.Answer.Err != nil
	switch {
	case l.Up != nil:
		return found(finding.ClassProcess, l.Up.Facts(fact.Boot))
	case l.Asked != nil && refused(l.Asked):
		return found(finding.ClassDaemon, l.Asked.Facts(fact.Listing))
	case l.Asked != nil && (!hangs || tolerated(h, inventoryTaken, span{})):
		return nil, problem(harness.ByLook, l.Asked.Text)
	case hangs:
		return found(finding.ClassDaemon, l.Answer.Err.Facts(fact.Answer).With(fact.Facts{
			fact.Bound: l.Answer.Bound.String(), fact.Apart: l.Answer.Took.String()}))
	case uncollected != nil && !refused(uncollected) && tolerated(h, collected, until(l.At)):
		return nil, problem(harness.ByLook, uncollected.Text)
	case uncollected != nil:
		return found(finding.ClassDaemon, uncollected.Facts(fact.Collection))
	}
	return nil, nil
}

// refused reports whether containerd responded with an error of its own. For example,
// v2.3.7 refused to list tasks: "client supports only v2 and v3 TTRPC task client". A
// timeout, or a request that did not reach containerd, is no such error.
func refused(f *callerr.Failed) bool { return f.Answered && f.Code == "Unknown" }

// reused returns a finding if the first container's id could not be used again. Rule
// leaks reports the leaks of that second use.
func reused(h *run) ([]finding.Finding, []harness.Problem) {
	switch {
	case h.Reuse == nil:
	case h.Reuse.Err != nil && h.MachineCannot():
		return nil, problem(harness.ByLook, fmt.Sprintf("the first container's id cannot be used again (%s), "+
			"but %s cannot run the workload on this machine either: %s",
			h.Reuse.Err.Text, h.Reference.Version, h.Reference.Why))
	case h.Reuse.Err != nil:
		return []finding.Finding{unalive(finding.ClassContainer, h.Reuse.Err.Facts(fact.IDReuse))}, nil
	case h.Reuse.After != nil && looked(h) && h.Reuse.After.Inventory == nil:
		text := "containerd did not respond after the second use of the first container's id"
		if h.Reuse.After.Asked != nil {
			text = h.Reuse.After.Asked.Text
		}
		return nil, problem(harness.ByLook, text)
	}
	return nil, nil
}
