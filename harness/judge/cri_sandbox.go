package judge

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// criSandboxes: a sandbox is ready while it runs, and no more when StopPodSandbox has
// succeeded. Once a fault has happened it may have ended by that, and CRI may not be able
// to say.
func criSandboxes(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if h.CRI == nil {
		return nil, nil
	}
	for _, s := range h.CRI.Sandboxes {
		switch {
		case s.Err != nil:
			if !fired(h, s.At) {
				found = append(found, about(oracle.ASandbox, s.ID, oracle.FieldState, oracle.NotSet, s.Err.Said, "it is there"))
			}
		case s.Stopped && s.State == oracle.CRIReady:
			found = append(found, about(oracle.ASandbox, s.ID, oracle.FieldState, oracle.TooLate, s.State,
				"StopPodSandbox had succeeded"))
		case !s.Stopped && s.State != oracle.CRIReady && !fired(h, s.At):
			found = append(found, about(oracle.ASandbox, s.ID, oracle.FieldState, oracle.TooEarly, s.State,
				"RunPodSandbox had succeeded, and nothing had stopped it"))
		}
	}
	return uniqueCauses(found), nil
}
