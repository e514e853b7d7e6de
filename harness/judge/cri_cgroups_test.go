package judge

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// The init of a pod's container has pid 41 there, and that of its sandbox 40.
func TestRulesOfCgroups(t *testing.T) {
	const world, below = "/shimquake/w1", harness.PodCgroup
	in := func(sandbox, container string) func(*harness.History) {
		return func(h *harness.History) {
			h.Case.Workload.CgroupParent, h.Instances[0].PID = true, 41
			h.CRI.Done = append(h.CRI.Done, harness.CRIDone{Verb: "RunPodSandbox", ID: "pod"})
			h.Standings = []oracle.Standings{{At: at(25), Behind: []oracle.Standing{
				{PID: 40, Cgroup: world + sandbox}, {PID: 41, Cgroup: world + container}, {PID: 44, Cgroup: world + "/k8s.io/x"}}}}
		}
	}
	const elsewhere = "liveness container what=cgroup-elsewhere"
	judgedPod(t, map[string]row{
		"as it was asked":        {in(below+"/pod", below+"/c0"), ""},
		"a sandbox elsewhere":    {in("/k8s.io/pod", below+"/c0"), elsewhere + " reported=/shimquake/w1/k8s.io/pod"},
		"a container elsewhere":  {in(below+"/pod", "/k8s.io/c0"), elsewhere},
		"in the parent itself":   {in(below+"/pod", below), elsewhere},
		"in that of its sandbox": {in(below+"/pod", below+"/pod"), elsewhere},
		"nobody has asked": {also(in("/k8s.io/pod", "/k8s.io/c0"), func(h *harness.History) {
			h.Case.Workload.CgroupParent = false
		}), ""},
	})
}
