// Package fakeshim makes a containerd shim that runs no containers: its tasks are plain
// processes with the payload's words. It serves containerd 1.6 to 2.4, creates a task in
// milliseconds, takes every fault at a ttrpc method (package probe is linked in), and
// misbehaves in what it answers and reports as package behaviour says.
package fakeshim

import (
	"context"

	"github.com/shimquake/shimquake/fixtures/gobuild"
)

const (
	// Runtime is the name by which containerd is asked for the shim.
	Runtime = "io.containerd.fakeshim.v1"
	// Binary is the file name by which containerd finds it: its folder must be in
	// containerd's PATH.
	Binary = "containerd-shim-fakeshim-v1"
)

// Build returns the path of the shim's binary, put into cacheDir when it is not there
// yet. Its base name is Binary. A call that finds it takes about a millisecond. Several
// processes may share cacheDir.
func Build(ctx context.Context, cacheDir string) (string, error) {
	return gobuild.WorldProgram(ctx, cacheDir, Binary)
}
