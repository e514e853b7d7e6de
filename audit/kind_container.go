package audit

import (
	"maps"
	"slices"
)

// ContainerKind is a container of CRI that CRI does not list, or that CRI reports as
// running without a task.
const ContainerKind Kind = "container"

var inCRIKind = kind{
	name: ContainerKind,
	find: (*comparison).inCRI,
	do: func(_ Suspect) string {
		return "drain the node and restart containerd: CRI then reads containerd's records, and kubelet removes unknown" +
			" containers"
	},
}

// inCRI returns the containers about which CRI and containerd disagree.
func (c *comparison) inCRI() []Suspect {
	if c.Known.Pods == nil || !c.Complete {
		return nil
	}
	var out []Suspect
	for _, k := range sorted(c.Known.Containers) {
		kind := c.Known.Containers[k].Kind
		_, pod := c.Known.Pods[k.ID]
		_, container := c.Known.CRIContainers[k.ID]
		if kind == "" || pod || container {
			continue
		}
		s := c.suspect(ContainerKind, k)
		s.Age = c.Known.Containers[k].Age
		s.Facts = facts("task", c.task(k), "listed", "not-by-cri")
		s.Missing = []string{"CRI's record of the " + kind}
		out = append(out, s)
	}
	const ns = "k8s.io"
	for _, id := range slices.Sorted(maps.Keys(c.Known.CRIContainers)) {
		k := Key{ns, id}
		if _, ok := c.Known.Tasks[k]; ok || c.Known.CRIContainers[id] != "CONTAINER_RUNNING" {
			continue
		}
		s := c.suspect(ContainerKind, k)
		s.Facts = facts("task", none)
		s.Missing = []string{"task: CRI reports it as running"}
		out = append(out, s)
	}
	return out
}
