package judge

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// answers: containerd boots, lists its objects, answers a simple request in time, and
// collects garbage on request. A failure of the harness to ask is a problem and no
// finding.
func answers(h *harness.History) ([]finding.Finding, []harness.Problem) { return answersOf(h, h.After) }

func answersOf(h *harness.History, l *harness.Look) ([]finding.Finding, []harness.Problem) {
	if l == nil {
		return nil, nil
	}
	found := func(class finding.Class, fs fact.Facts) ([]finding.Finding, []harness.Problem) {
		return []finding.Finding{{Invariant: finding.Liveness, Class: class, Facts: fs}}, nil
	}
	uncollected := (*callerr.Failed)(nil)
	if l.Inventory != nil {
		uncollected = l.Inventory.Uncollected
	}
	hangs := l.Answer != nil && l.Answer.Err != nil
	switch {
	case l.Up != nil:
		return found(finding.ClassProcess, l.Up.Facts(fact.Boot))
	case l.Asked != nil && refused(l.Asked):
		return found(finding.ClassDaemon, l.Asked.Facts(fact.Listing))
	case l.Asked != nil && (!hangs || has(h, containerdFroze)):
		return nil, problem(harness.ByLook, l.Asked.Text)
	case hangs:
		return found(finding.ClassDaemon, l.Answer.Err.Facts(fact.Answer).With(fact.Facts{
			fact.Bound: l.Answer.Bound.String(), fact.Apart: l.Answer.Took.String()}))
	case uncollected != nil && !refused(uncollected) && (hadBegun(h, kernelSlow, l.At) || has(h, containerdFroze)):
		return nil, problem(harness.ByLook, uncollected.Text)
	case uncollected != nil:
		return found(finding.ClassDaemon, uncollected.Facts(fact.Collection))
	}
	return nil, nil
}

// refused reports whether containerd was asked and answered with an error of its own
// (seen on v2.3.7: "client supports only v2 and v3 TTRPC task client", at each listing of
// tasks). That it was not reached, or not in time, says nothing.
func refused(f *callerr.Failed) bool { return f.Answered && f.Code == "Unknown" }
