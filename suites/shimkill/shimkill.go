// Package shimkill has the specs about a shim that is SIGKILLed. The kill comes in each
// state of its task and in the middle of each call, while containerd runs and while it
// is down. containerd must clean up after the shim, and report the real exit status.
//
// In package crashcreate, the shim is killed together with containerd in the middle of
// Create or Start. In the sweep, the shim of one task crashes in the middle of a call.
package shimkill

import (
	_ "embed" // the specs

	"github.com/shimquake/shimquake/suites/spec"
)

//go:embed shimkill.yaml
var specs string

var _ = spec.File("suites/shimkill/shimkill.yaml", specs, nil)
