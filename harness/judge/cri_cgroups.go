package judge

import (
	"path"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// criCgroups: the cgroups of a pod, its sandbox's and its containers', are in that which
// its client has asked for as their parent: there it is set what the pod may have, and
// counted what it uses.
func criCgroups(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if !h.Case.Workload.CgroupParent || h.CRI == nil {
		return nil, nil
	}
	for _, s := range h.Standings {
		for _, p := range s.Behind {
			id := whoRuns(h, p)
			ends := p.Cgroup == "" || p.Cgroup == "/" // the kernel says so of one that is about to be gone
			if id == "" || ends || strings.HasSuffix(p.Cgroup, path.Join(harness.PodCgroup, id)) {
				continue
			}
			found = append(found, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassContainer,
				Subject: oracle.Subject{ID: id, PID: p.PID}, Facts: oracle.Facts{oracle.FactWhat: oracle.CgroupElsewhere,
					oracle.FactReported: p.Cgroup, oracle.FactTrue: harness.PodCgroup}})
		}
	}
	return uniqueCauses(found), nil
}

// whoRuns is the id of the container whose init a process is, or of the container or the
// sandbox whose id its cgroup has; "" of what is nothing of the pod.
func whoRuns(h *harness.History, p oracle.Standing) string {
	for _, i := range h.Instances {
		if i.ID != "" && (int(i.PID) == p.PID || path.Base(p.Cgroup) == i.ID) {
			return i.ID
		}
	}
	n := slices.IndexFunc(h.CRI.Done, func(d harness.CRIDone) bool { return d.ID == path.Base(p.Cgroup) })
	if n < 0 {
		return ""
	}
	return h.CRI.Done[n].ID
}
