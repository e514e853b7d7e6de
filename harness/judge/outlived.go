package judge

import (
	"strconv"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// outlived: a shim that tells the exit of a container's init has killed what the init has
// left behind. One that was killed itself could not.
func outlived(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
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
		found = append(found, oracle.Finding{
			Invariant: oracle.Forgot, Class: oracle.ClassProcess,
			Subject: oracle.Subject{Namespace: daemon.TaskNamespace, ID: p.Container, PID: p.PID, Name: p.Name},
			Facts: oracle.Facts{
				oracle.FactTask: oracle.TaskStopped, oracle.FactTaskPID: strconv.Itoa(pid), oracle.FactProgram: p.Name,
			},
		})
	}
	return found, nil
}
