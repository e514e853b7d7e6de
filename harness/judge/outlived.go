package judge

import (
	"strconv"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// outlived: a shim that reports the exit of an init has killed the init's children. A
// killed shim could not.
func outlived(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if len(shimKills(h)) > 0 {
		return nil, nil
	}
	for _, p := range h.Outlived {
		pid := 0
		for _, i := range h.Instances {
			if i.ID == p.Container {
				pid = int(i.PID)
			}
		}
		found = append(found, finding.Finding{
			Invariant: finding.Forgot, Class: finding.ClassProcess,
			Subject: finding.Subject{Namespace: daemon.TaskNamespace, ID: p.Container, PID: p.PID, Name: p.Name},
			Facts: fact.Facts{
				fact.Task: fact.TaskStopped, fact.TaskPID: strconv.Itoa(pid), fact.Program: p.Name,
			},
		})
	}
	return found, nil
}
