package harness

import (
	"fmt"

	"github.com/shimquake/shimquake/failpoints"
)

// unhurt makes a verdict invalid when a shim could not create or start a container before anything was broken: a fault that fires while
// containerd tidies up after that, at Shutdown for one, would otherwise hide that nothing ran. It knows only where all faults are
// decided by probes, since the others' moments are not among the hits.
func unhurt(c Case, hits []failpoints.Hit) error {
	if c.Workload.Fakeshim != "" {
		return nil // it may misbehave when told to
	}
	for _, f := range c.Plan {
		if !f.At.Kind.Probed() {
			return nil
		}
	}
	for _, h := range hits {
		if h.Fault >= 0 {
			return nil
		}
		if h.Err != "" && (h.Point == "rpc:shim:Task.Create:exit" || h.Point == "rpc:shim:Task.Start:exit") {
			return fmt.Errorf("%s of %s failed before any fault had happened: %s", h.Point, h.ID, h.Err)
		}
	}
	return nil
}
