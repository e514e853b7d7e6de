package judge

import (
	"fmt"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// users: who runs in a container is who was asked for, of its init and of each exec.
func users(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	for _, i := range h.Instances {
		found = append(found, anotherUser(i, "", i.Payload)...)
		for _, e := range i.Execs {
			found = append(found, anotherUser(i, e.Called(), e.Payload)...)
		}
	}
	return found, nil
}

func anotherUser(i harness.Instance, exec string, own payload.Truth) []oracle.Finding {
	uid, gid := i.Spec.RunsAs()
	if own.Runs == 0 || own.UID == uid && own.GID == gid {
		return nil
	}
	return []oracle.Finding{{Invariant: oracle.Liveness, Class: oracle.ClassContainer,
		Subject: oracle.Subject{ID: i.ID, Exec: exec}, Facts: ofExec(exec, oracle.Facts{
			oracle.FactWhat: oracle.RanAs, oracle.FactTrue: fmt.Sprintf("%d:%d", own.UID, own.GID),
			oracle.FactReported: fmt.Sprintf("%d:%d", uid, gid)})}}
}
