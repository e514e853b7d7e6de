// Package shutdown has the specs about Shutdown, the last call to a shim. In them the
// call fails, is cancelled or loses its response, or containerd is killed during the
// call.
package shutdown

import (
	_ "embed" // the specs

	"github.com/shimquake/shimquake/suites/spec"
)

//go:embed shutdown.yaml
var specs string

var _ = spec.File("suites/shutdown/shutdown.yaml", specs, nil)
