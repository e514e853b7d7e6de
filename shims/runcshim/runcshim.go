// Package runcshim is the runc shim of a containerd release, as a runtime for workloads.
//
// It is the release's real shim, with probes: calls around each ttrpc method at which
// Shimquake injects faults. fixtures/containerd builds it from the release's source,
// and puts it first in containerd's PATH. Package fakeshim has a shim that misbehaves
// in other ways.
package runcshim

const (
	// Runtime is the shim's name for clients and in CRI's configuration.
	Runtime = "io.containerd.runc.v2"
	// Binary is the name of its file, which containerd derives from Runtime.
	Binary = "containerd-shim-runc-v2"
)

// GroupAnnotation is the OCI annotation for a shared shim. Containers with the same value
// have one shim, like the containers of a pod (cmd/containerd-shim-runc-v2/manager in
// containerd).
const GroupAnnotation = Runtime + ".group"
