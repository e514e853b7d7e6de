package judge

import (
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// inputs: the payload reads each input line once and in order, and sees the end after
// CloseIO. It does not see the end before the request, even if a client goes away. With
// CRI the end comes when the client closes its stream, or when the client of an exec goes
// away. The rule does not apply if a fault broke a process between writer and reader.
func inputs(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	for _, i := range h.Instances {
		if tolerated(h, inputRead, i, span{}) || streamed(i) && tolerated(h, streamWorks, i, span{i.Begun, h.Done}) {
			continue
		}
		found = append(found, wrongInput(i, "", i.Input, i.Payload)...)
		for _, e := range i.Execs {
			found = append(found, wrongInput(i, e.Called(), e.Input, e.Payload)...)
		}
	}
	return found, nil
}

// wrongInput is of a container's init, or of an exec in it. One that has ended before its
// input was to end has read less.
func wrongInput(i harness.Instance, exec string, in *harness.Input, own payload.Truth) (found []finding.Finding) {
	if in == nil || in.Closing.IsZero() && !in.Open {
		return nil
	}
	find := func(fs fact.Facts) {
		found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassContainer,
			Subject: finding.Subject{ID: i.ID, Exec: exec}, Facts: ofExec(exec, fs)})
	}
	early := !own.EOFAt.IsZero() && own.EOFAt.Before(in.Closing)
	switch {
	case in.Open && !own.EOFAt.IsZero():
		find(fact.Facts{fact.What: fact.InputEnded, fact.After: fact.ClientGone})
	case early:
		find(fact.Facts{fact.What: fact.InputEnded, fact.Apart: in.Closing.Sub(own.EOFAt).String()})
	case own.EOFAt.IsZero() && !in.Closed.IsZero() && own.Runs > 0:
		find(fact.Facts{fact.What: fact.InputOpen, fact.Bound: in.Patience.String()})
	}
	lines := 0
	if !own.EOFAt.IsZero() && !early && !in.Open || in.Open && own.Exited {
		lines = in.Lines
	}
	for _, fs := range wrongLines(in.Read, in.Read.MissingOf(lines, latest(own.EOFAt, own.ExitedAt))) {
		fs[fact.What] = fact.WrongInput
		find(fs)
	}
	return found
}
