package audit

import (
	"maps"
	"slices"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// inCRIKind is a container of CRI that CRI does not list, or that CRI reports as running
// without a task.
var inCRIKind = kind{
	class: finding.ClassContainer,
	find:  (*comparison).inCRI,
	do: always("drain the node and restart containerd: CRI then reads containerd's records, and kubelet removes unknown" +
		" containers"),
}

// inCRI returns the containers about which CRI and containerd disagree.
func (c *comparison) inCRI() {
	if !c.Complete || !slices.ContainsFunc(c.Daemons, func(d Daemon) bool { return d.CRI }) {
		return
	}
	for _, k := range sorted(c.Known.Containers) {
		kind := c.Known.Containers[k].Kind
		_, pod := c.Known.Pods[k.ID]
		_, container := c.Known.CRIContainers[k.ID]
		if kind == "" || pod || container {
			continue
		}
		s := c.suspect(k, fact.Facts{fact.Task: c.task(k), fact.Listed: fact.NotByCRI})
		s.Changed, s.Missing = c.Known.Containers[k].Created, []string{"CRI's record of the " + kind}
	}
	const ns = "k8s.io"
	for _, id := range slices.Sorted(maps.Keys(c.Known.CRIContainers)) {
		k := Key{ns, id}
		if _, ok := c.Known.Tasks[k]; ok || c.Known.CRIContainers[id] != "CONTAINER_RUNNING" {
			continue
		}
		s := c.suspect(k, fact.Facts{fact.Task: fact.None})
		s.Missing = []string{"task: CRI reports it as running"}
	}
}
