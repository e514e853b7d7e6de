package judge

import (
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// attached: an attached client of CRI gets the whole output, and its stream ends after
// the container, even if another client broke its connection. The rule does not apply if
// a fault broke a process between container and client.
func attached(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	for _, i := range h.Instances {
		find := func(fs fact.Facts) {
			fs[fact.Of] = fact.AnAttach
			found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassContainer,
				Subject: finding.Subject{ID: i.ID}, Facts: fs})
		}
		for _, a := range i.Attaches {
			if tolerated(h, streamWorks, i, span{i.Begun, latest(a.Ended, i.Waited)}) {
				continue
			}
			switch {
			case a.Err != nil:
				find(a.Err.Facts(fact.AttachFailed))
			case a.Ended.IsZero() && !i.Waited.IsZero():
				find(fact.Facts{fact.What: fact.AttachOpen, fact.Bound: a.Patience.String()})
			}
			if a.Outputs == nil {
				continue
			}
			for _, f := range notTold(i, a) {
				find(f.Facts)
			}
		}
	}
	return found, nil
}

// notTold is what is wrong with the output that a client was told. Where the input stays
// open v2.4.2 ends the other stream when one has ended, and what is still to come of it
// is lost (ContainerIO.Attach ends the input with each of the two, and both with the
// input): so one of the two must be whole, and the other have begun.
func notTold(i harness.Instance, a harness.Attach) []finding.Finding {
	found := wrongOutputs(i, "", *a.Outputs, i.Payload)
	lost := map[string]bool{}
	for _, f := range found {
		if f.Facts[fact.Output] == fact.Missing {
			lost[f.Facts[fact.Stream]] = true
		}
	}
	begun := a.Outputs.Stdout.Last > 0 && a.Outputs.Stderr.Last > 0
	if i.Input == nil || !i.Input.Open || !begun || len(lost) > 1 {
		return found
	}
	return slices.DeleteFunc(found, func(f finding.Finding) bool { return f.Facts[fact.Output] == fact.Missing })
}

// streamed reports whether clients of CRI's streaming server have read or written what a
// container, or an exec in it, has.
func streamed(i harness.Instance) bool {
	return len(i.Attaches) > 0 || slices.ContainsFunc(i.Execs, func(e harness.Exec) bool { return e.Sync != nil })
}
