package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// criStates: CRI's lists agree with its status responses, and no stopped sandbox is
// listed as ready.
func criStates(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if h.CRI == nil {
		return nil, nil
	}
	for _, s := range h.CRI.States {
		want := ""
		switch {
		case s.Stopped && !fired(h, latest(s.At, s.Answered)):
			want = criview.NotReady
		case s.Stopped:
		case s.Object == fact.ASandbox && !fired(h, latest(s.At, s.Answered)):
			want = criview.Ready
		case s.Object == fact.AContainer && !broken(h, latest(s.At, s.Answered)) && saidToHaveExited(h, s.ID, s.At):
			want = criview.Exited
		}
		if want != "" && s.State != want {
			is, truth := fact.Other, want
			if s.Stopped && s.State == criview.Ready {
				is, truth = fact.TooLate, "StopPodSandbox had succeeded"
			}
			f := about(s.Object, s.ID, fact.FieldState, is, s.State, truth)
			f.Facts[fact.What] = fact.Listing
			found = append(found, f)
		}
	}
	return uniqueCauses(found), nil
}

func saidToHaveExited(h *harness.History, id string, by time.Time) bool {
	said := slices.Concat(h.CRI.Statuses, h.CRI.NotStarted)
	return slices.ContainsFunc(said, func(s criview.Status) bool {
		return s.ID == id && s.State == criview.Exited && !s.Seen.After(by)
	})
}

// criStopped: after a successful stop the container has ended, and CRI reports that. Of
// equal responses the history has the first, and the time of the last request. A repeated
// stop may have met the end of the container.
func criStopped(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if h.CRI == nil {
		return nil, nil
	}
	for _, i := range h.Instances {
		stopped, ok := stoppedAt(h, i)
		if !ok || broken(h, stopped) || len(h.Kills) > 0 {
			continue
		}
		if own := i.Payload; own.Exited && own.ExitedAt.After(stopped) {
			found = append(found, about(fact.AContainer, i.ID, fact.FieldState, fact.TooEarly, "that it is stopped",
				fmt.Sprintf("it ended %s later", own.ExitedAt.Sub(stopped))))
		}
		restarted := slices.ContainsFunc(h.Deaths, func(d daemon.Death) bool { return d.At.After(stopped) })
		_, once := stopOf(h, i)
		for _, s := range h.CRI.Statuses {
			if s.ID == i.ID && s.State == criview.Running && s.Asked.After(stopped) && !restarted && once {
				found = append(found, about(fact.AContainer, i.ID, fact.FieldState, fact.TooLate, s.State,
					stopVerb(i)+" succeeded at "+stamp(stopped)))
			}
		}
	}
	return uniqueCauses(found), nil
}

// criNotStarted: a container with a failed start is not reported as successful. CRI
// reports 128 for each of them, whatever signal ended it. Without a fault it exited
// after the request and for that reason. A restart changes none of this.
func criNotStarted(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if h.CRI == nil {
		return nil, nil
	}
	said := map[string]criview.Status{}
	for _, s := range h.CRI.NotStarted {
		if s.State == criview.Exited && s.ExitCode == 0 {
			found = append(found, about(fact.AContainer, s.ID, fact.FieldExitCode, fact.Other, "0",
				"another than 0: its StartContainer had failed"))
		}
		n := slices.IndexFunc(h.Instances, func(i harness.Instance) bool { return i.ID == s.ID })
		if n >= 0 && !fired(h, s.Seen) {
			found = append(found, refusedStatus(h, h.Instances[n], s)...)
		}
		was, ok := said[s.ID]
		// A containerd that starts may find a task that a fault has kept from its roll-back.
		doubts := s.State == criview.Unknown && fired(h, was.Seen)
		if ok && !doubts && !brokenSince(h, was.Seen, s.Seen) {
			found = append(found, forgot(was, s)...)
		}
		said[s.ID] = s
	}
	return uniqueCauses(found), nil
}

// refusedStatus judges what CRI says of a container whose start it has refused.
func refusedStatus(h *harness.History, i harness.Instance, s criview.Status) []finding.Finding {
	const had = "its StartContainer had failed"
	if s.State != criview.Exited {
		return []finding.Finding{about(fact.AContainer, s.ID, fact.FieldState, fact.Other, s.State,
			criview.Exited+": "+had)}
	}
	found := statusTimes(h, i, s)
	if s.Reason != startError {
		found = append(found, about(fact.AContainer, s.ID, fact.FieldReason, fact.Other, s.Reason,
			startError+": "+had))
	}
	return found
}
