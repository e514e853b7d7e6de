// Package umount has the specs about an umount2 that takes longer than its caller
// waits. A slow disk, or a delay that strace injects, keeps the shim from unmounting a
// container in time.
package umount

import (
	_ "embed" // the specs

	"github.com/shimquake/shimquake/suites/spec"
)

//go:embed umount.yaml
var specs string

var _ = spec.File("suites/umount/umount.yaml", specs, nil)
