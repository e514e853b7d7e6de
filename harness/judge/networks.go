package judge

import (
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/fixtures/cni"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// networks: containerd does not call CNI's ADD twice for a pod without a DEL in between.
// CRI reports the IP address that CNI returned. The DEL comes after the request to stop
// the pod, and while the pod's network namespace exists. The rule `leaks` requires the
// final DEL.
func networks(h *run) (found []finding.Finding, _ []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	var open []inventory.NetworkCall
	for _, c := range h.After.Inventory.Networks {
		f := finding.Finding{
			Invariant: finding.Net, Class: finding.ClassNetwork,
			Subject: finding.Subject{ID: c.Container, Path: c.Netns},
			Facts:   fact.Facts{fact.Call: c.Command, fact.Network: c.Network},
		}
		again := slices.ContainsFunc(open, c.Same)
		switch c.Command {
		case inventory.CNIAdd:
			open = append(open, c)
			if again {
				f.Facts[fact.Is] = fact.Repeated
				found = append(found, f)
			}
		case inventory.CNIDel:
			open = slices.DeleteFunc(open, c.Same)
			if from, lives := livedAt(h, c.Container, c.At); again && lives {
				f.Facts[fact.Is] = fact.TooEarly
				f.Facts[fact.Apart] = c.At.Sub(from).Round(time.Millisecond).String()
				found = append(found, f)
			} else if again && c.Gone && !tolerated(h, netnsThere, span{}) {
				f.Facts[fact.Netns] = fact.Gone
				found = append(found, f)
			}
		}
	}
	return append(found, otherAddresses(h)...), nil
}

// livedAt reports whether a pod should have run at a time, and since when. The client had
// run it by then, and had not asked to stop it. A recorded call that stops a pod has no
// id, but the client stops one pod at a time.
func livedAt(h *run, sandbox string, at time.Time) (since time.Time, lives bool) {
	for _, b := range h.Bystanders {
		if b.Sandbox == sandbox {
			return b.Started, !b.Started.IsZero() && b.Started.Before(at) &&
				(b.Released.IsZero() || at.Before(b.Released))
		}
	}
	if h.CRI == nil {
		return time.Time{}, false
	}
	since, reported := h.CRI.DoneAt("RunPodSandbox", sandbox)
	stops := slices.ContainsFunc(h.Calls, func(c harness.Call) bool {
		return (c.Verb == "StopPodSandbox" || c.Verb == "RemovePodSandbox") && !c.At.After(at)
	})
	return since, reported && since.Before(at) && !stops
}

// otherAddresses returns a finding for each ready pod for which CRI reports another
// address than CNI returned, before or after a restart of containerd.
func otherAddresses(h *run) (found []finding.Finding) {
	if h.CRI == nil {
		return nil
	}
	given := map[string]string{}
	for _, c := range h.After.Inventory.Networks {
		if c.Command == inventory.CNIAdd && c.Network == cni.Network {
			given[c.Container], _, _ = strings.Cut(c.Address, "/")
		}
	}
	for _, s := range h.CRI.Sandboxes {
		if want := given[s.ID]; s.Err == nil && s.State == criview.Ready && !s.Stopped && s.IP != want {
			found = append(found, about(fact.ASandbox, s.ID, fact.FieldIP, fact.Other, s.IP, want))
		}
	}
	return uniqueCauses(found)
}
