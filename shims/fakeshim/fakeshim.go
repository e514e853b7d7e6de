// Package fakeshim builds a containerd shim that runs no containers: its tasks are plain
// processes with the payload's command line. It serves containerd 1.6 to 2.4 and creates
// a task in milliseconds. It takes every fault at a ttrpc method (package probe is linked
// in), and misbehaves as package behaviour describes.
package fakeshim

import (
	"context"

	"github.com/shimquake/shimquake/fixtures/gobuild"
)

const (
	// Runtime is the shim's name in containerd.
	Runtime = "io.containerd.fakeshim.v1"
	// Binary is the shim's file name for containerd: its folder must be in containerd's
	// PATH.
	Binary = "containerd-shim-fakeshim-v1"
)

// Build returns the path of the shim's binary, and builds it in cacheDir if it is not
// there. Its base name is Binary. A call that finds it takes about a millisecond. Several
// processes may share cacheDir.
func Build(ctx context.Context, cacheDir string) (string, error) {
	return gobuild.WorldProgram(ctx, cacheDir, Binary)
}
