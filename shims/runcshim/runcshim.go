// Package runcshim is the runc shim of a containerd release, as a runtime for workloads.
//
// It is the release's real shim, with probes: calls around each ttrpc method at which
// Shimquake injects faults. fixtures/containerd builds it from the release's source,
// and puts it first in containerd's PATH. Package fakeshim has a shim that misbehaves
// in other ways.
package runcshim

// Runtime is the shim's name for clients. containerd derives the binary's name from it:
// containerd-shim-runc-v2.
const Runtime = "io.containerd.runc.v2"

// GroupAnnotation is the OCI annotation for a shared shim. Containers with the same value
// have one shim, like the containers of a pod (cmd/containerd-shim-runc-v2/manager in
// containerd).
const GroupAnnotation = "io.containerd.runc.v2.group"
