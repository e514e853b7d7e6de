package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// criSandboxes: a sandbox is ready while it runs, and not after a successful
// StopPodSandbox. A fault may have ended it, and CRI may not know.
func criSandboxes(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if h.CRI == nil {
		return nil, nil
	}
	for _, s := range h.CRI.Sandboxes {
		switch {
		case s.Err != nil:
			if !fired(h, latest(s.At, s.Answered)) {
				found = append(found, about(fact.ASandbox, s.ID, fact.FieldState, fact.NotSet, s.Err.Said, "it is there"))
			}
		case s.Stopped && s.State == criview.Ready:
			found = append(found, about(fact.ASandbox, s.ID, fact.FieldState, fact.TooLate, s.State,
				"StopPodSandbox had succeeded"))
		case !s.Stopped && s.State == criview.Ready && sandboxLost(h, s.At):
			found = append(found, about(fact.ASandbox, s.ID, fact.FieldState, fact.TooLate, s.State,
				"its init or its shim was killed before containerd was started"))
		case !s.Stopped && s.State != criview.Ready && !fired(h, latest(s.At, s.Answered)):
			found = append(found, about(fact.ASandbox, s.ID, fact.FieldState, fact.TooEarly, s.State,
				"RunPodSandbox had succeeded, and nothing had stopped it"))
		}
	}
	for _, s := range h.CRI.Unanswered {
		if s.State == criview.Ready && halfMade(h, s) {
			found = append(found, about(fact.ASandbox, s.ID, fact.FieldState, fact.TooEarly, s.State,
				"its shim had created its init, and not started it"))
		}
	}
	return uniqueCauses(found), nil
}

// halfMade reports whether the shim of a sandbox had created its init by then, and had
// not begun to start it.
func halfMade(h *harness.History, s harness.SandboxSeen) bool {
	did := func(point string) bool {
		return slices.ContainsFunc(h.Hits, func(hit failpoints.Hit) bool {
			return hit.Who == "shim" && hit.ID == s.ID && hit.Point == point && hit.Time.Before(s.Answered)
		})
	}
	return did("rpc:shim:Task.Create:exit") && !did("rpc:shim:Task.Start:entry")
}

// sandboxLost reports whether a sandbox had nothing left that runs when the containerd
// that was asked had started: that one sees it, and need not hear of it.
func sandboxLost(h *harness.History, asked time.Time) bool {
	return slices.ContainsFunc(h.Kills, func(k harness.Kill) bool {
		return (k.Who == "shim" || k.Who == "sandbox") && slices.ContainsFunc(h.Deaths, func(d daemon.Death) bool {
			back := d.At.Add(d.BackIn)
			return d.BackIn > 0 && k.At.Before(back) && back.Before(asked)
		})
	})
}
