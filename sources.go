// Package shimquake embeds the source that the command needs for its builds. These are
// the programs of its worlds (throw-away nodes), and the probes, which are calls in
// containerd at which faults are injected. So an installed command needs no checkout,
// and never uses the source of another version.
package shimquake

import "embed"

// Sources are files of this module, by their paths. They are the packages that are built
// at run time, their imports from the module, and the script that finds a Go.
//
//go:embed go.mod go.sum scripts/env
//go:embed failpoints/probe failpoints/signal
//go:embed fixtures/cni/program fixtures/cni/record
//go:embed fixtures/payload/mode fixtures/payload/program
//go:embed fixtures/world/init fixtures/world/wire
//go:embed shims/fakeshim
var Sources embed.FS
