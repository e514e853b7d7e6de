// Package network has the specs about pods with their own network namespace. CNI must
// delete everything that it has added, and no namespace may stay mounted. In these
// specs containerd is killed, or a request is cancelled, while a network is set up or
// torn down.
package network

import (
	_ "embed" // the specs

	"github.com/shimquake/shimquake/suites/spec"
)

//go:embed network.yaml
var specs string

var _ = spec.File("suites/network/network.yaml", specs, nil)
