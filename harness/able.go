package harness

import (
	"fmt"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/iopressure"
	"github.com/shimquake/shimquake/fixtures/world"
)

// able says, before anything is made, whether this machine has what the case takes besides a world. Its errors are Unable.
func (x *experiment) able() error {
	if x.Workload.Fakeshim == "" {
		if err := world.Needs("devices"); err != nil {
			return fmt.Errorf("runc cannot run containers on this machine: %w", err)
		}
	}
	// A pod's containers have CPU shares, which runc refuses to drop.
	if x.Workload.API == CRI {
		if err := world.Needs("cpu"); err != nil {
			return fmt.Errorf("this machine cannot run pods: %w", err)
		}
	}
	for _, f := range x.Plan {
		if f.At.Kind != failpoints.IO {
			continue
		}
		if _, err := iopressure.Detect(); err != nil {
			return fmt.Errorf("this machine cannot do %s: %w", f, err)
		}
	}
	return nil
}
