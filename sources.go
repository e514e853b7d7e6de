// Package shimquake is what the command brings of its own source: that of the programs
// which it builds for its worlds, and of the probes that it weaves into containerd. So an
// installed command needs no checkout, and never takes the source of another version.
package shimquake

import "embed"

// Sources are files of this module by their paths in it: what is built at run time, what
// that imports of the module, and how a Go is found that can build it.
//
//go:embed go.mod go.sum scripts/env
//go:embed failpoints/probe failpoints/signal
//go:embed fixtures/cni/program fixtures/cni/record
//go:embed fixtures/payload/mode fixtures/payload/program
//go:embed fixtures/world/init fixtures/world/wire
//go:embed shims/fakeshim
var Sources embed.FS
