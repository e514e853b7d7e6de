// Package protocol has the specs about shims that violate the protocol: in their
// response to `start`, in their reports, or with a broken connection at a call. The
// fake shim misbehaves in this way, and records that it did. The sweep has shims that
// crash at a call.
package protocol

import (
	_ "embed" // the specs

	"github.com/shimquake/shimquake/suites/spec"
)

//go:embed protocol.yaml
var specs string

var _ = spec.File("suites/protocol/protocol.yaml", specs, nil)
