// Package reboot has the specs about a node that reboots in each state of a task or a
// pod. A reboot empties /run, so containerd only has its root directory. It must be
// able to remove the old objects, and to use their ids again.
package reboot

import (
	_ "embed" // the specs

	"github.com/shimquake/shimquake/suites/spec"
)

//go:embed reboot.yaml
var specs string

var _ = spec.File("suites/reboot/reboot.yaml", specs, nil)
