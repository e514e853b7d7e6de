// Package runcshim is the runc shim that comes with a release of containerd, as a runtime
// for workloads.
//
// It is the real one: fixtures/containerd builds it from the release's own source, with
// probes around each ttrpc method, and puts it first in containerd's PATH. Only its
// faults are ours. For a shim that misbehaves in ways that no fault reaches, see
// shims/fakeshim.
package runcshim

import (
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd"
)

// Runtime is the name by which clients ask for the shim. containerd derives the binary's
// name from it: containerd-shim-runc-v2.
const Runtime = "io.containerd.runc.v2"

// GroupAnnotation is the OCI annotation whose equal values put containers behind one
// shim, as those of a pod are (cmd/containerd-shim-runc-v2/manager in containerd).
const GroupAnnotation = "io.containerd.runc.v2.group"

// Points are the points in the subject's shim that a workload of the task API can pass:
// those of the methods that the shim serves, and those of its process. There are none of
// a method in a subject without probes.
func Points(s *containerd.Subject) []failpoints.Point {
	return slices.DeleteFunc(s.Points(), func(p failpoints.Point) bool {
		return p.Who != "shim" || strings.HasPrefix(p.What, "Events.") // the shim calls those
	})
}
