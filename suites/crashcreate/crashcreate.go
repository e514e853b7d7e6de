// Package crashcreate has the specs about a containerd that is SIGKILLed while it
// creates or starts a task. The shim is paused in the call. In some specs it is killed,
// too. After the restart and the client's cleanup, everything must be gone and the id
// must be free. The sweep crashes containerd before and after each call to the shim.
package crashcreate

import (
	_ "embed" // the specs

	"github.com/shimquake/shimquake/suites/spec"
)

//go:embed crashcreate.yaml
var specs string

var _ = spec.File("suites/crashcreate/crashcreate.yaml", specs, nil)
