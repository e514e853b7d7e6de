package audit

import (
	"fmt"
	"path"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/scan"
)

// runcStateKind is runc's state of a container.
var runcStateKind = kind{
	class: finding.ClassRuncState,
	read: func(w *viewing) error {
		for _, root := range runcRoots {
			err := scan.EachRuncState(w.tree, root, func(r scan.RuncState) {
				if s, isThere := w.state(r); isThere && scan.IsName(r.Namespace) && scan.IsName(r.ID) {
					w.RuncStates = append(w.RuncStates, s)
				}
			})
			if err != nil {
				return err
			}
		}
		return nil
	},
	find: (*comparison).runcStates,
	do: func(s Suspect) string {
		return fmt.Sprintf("runc --root %s delete %s", path.Dir(s.Path), s.ID)
	},
}

// runcStates returns runc's states of containers without a task and without a process.
func (c *comparison) runcStates() {
	for _, r := range c.RuncStates {
		k := Key{r.Namespace, r.ID}
		if _, ok := c.Known.Tasks[k]; ok || !c.Complete {
			continue
		}
		s := c.suspect(k, fact.Facts{fact.Task: fact.None})
		s.Path, s.Changed = r.Path, r.Changed
	}
}

// runcRoots are the default folders for runc's state of shims and of docker.
var runcRoots = []string{"/run/containerd/runc", "/run/docker/runtime-runc"}
