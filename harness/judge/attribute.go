package judge

import (
	"cmp"
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// attributeFindings adds to each finding the container and the pod of the workload that
// it is about.
func attributeFindings(h *run, all []finding.Finding) {
	pods := podsOf(h)
	for i := range all {
		s := &all[i].Subject
		if all[i].Facts[fact.What] == fact.IDReuse {
			s.ID = firstID(h, all)
		}
		if s.ID == "" {
			continue
		}
		s.Pod = pods[s.ID]
		if name := nameOf(h, s.ID); name != "" {
			all[i].Facts[fact.Role] = name
		} else if s.Pod == s.ID && !ofBystander(h, s.ID) {
			all[i].Facts[fact.Role] = fact.OfSandbox
		}
	}
}

// firstID returns the id that the harness used again. If a pod has no container, that is
// the id of its sandbox, and firstID returns the first leaked id.
func firstID(h *run, all []finding.Finding) string {
	if len(h.Instances) == 0 {
		return ""
	}
	if id := h.Instances[0].ID; id != "" || h.Case.Workload.API != harness.CRI {
		return id
	}
	i := slices.IndexFunc(all, func(f finding.Finding) bool {
		return f.Invariant == finding.Leak && f.Subject.ID != "" && nameOf(h, f.Subject.ID) == ""
	})
	if i < 0 {
		return ""
	}
	return all[i].Subject.ID
}

func nameOf(h *run, id string) string {
	p, _ := processOf(h, id, "")
	return p.i.Name
}

// podsOf returns the pod or group of each container. The containers that one shim served
// are in one pod, which has the id of the shim's first call: the sandbox. If no hit in a
// shim is about a container, it is in no pod, or in the only group of the case.
func podsOf(h *run) map[string]string {
	first, pods := map[int]string{}, map[string]string{}
	for _, b := range h.Bystanders { // their shims may have no probes
		if b.Sandbox != "" {
			pods[b.Sandbox], pods[b.ID] = b.Sandbox, b.Sandbox
		}
	}
	for _, hit := range h.Hits {
		if hit.Who != "shim" || hit.ID == "" {
			continue
		}
		if first[hit.PID] == "" {
			first[hit.PID] = hit.ID
			if pod := pods[hit.ID]; pod != "" { // its `delete` helper, or the next shim of that id
				first[hit.PID] = pod
			}
		}
		if pods[hit.ID] == "" {
			pods[hit.ID] = first[hit.PID]
		}
	}
	if h.Case.Workload.Grouped { // the history may have no hit of its shim
		group, first := "", ""
		for _, i := range h.Instances {
			group, first = cmp.Or(group, pods[i.ID]), cmp.Or(first, i.ID)
		}
		for _, i := range h.Instances {
			if pods[i.ID] == "" && i.ID != "" {
				pods[i.ID] = cmp.Or(group, first)
			}
		}
	}
	return pods
}

func ofBystander(h *run, id string) bool {
	return slices.ContainsFunc(h.Bystanders, func(b harness.Bystander) bool { return b.Sandbox == id || b.ID == id })
}
