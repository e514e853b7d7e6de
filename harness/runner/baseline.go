package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// takeBaseline takes the inventory with which the judge compares the later one. A fault
// can break its calls, too, and takeBaseline then repeats them.
func (x *run) takeBaseline() error {
	begun := time.Now()
	var before inventory.Inventory
	var hopeless error
	x.record.Note("oracle", "takes the inventory before the workload")
	attempt := func(ctx context.Context) error {
		scene, err := x.sceneUp(ctx)
		if err != nil {
			return err
		}
		if before, err = inventory.Take(ctx, scene); err == nil {
			return nil
		}
		err = fmt.Errorf("take the inventory before the workload: %w", err)
		if !x.inject.AnyFired() { // no fault explains the error, so a retry does not help
			hopeless = err
			return nil
		}
		return err
	}
	err := x.withPlugins(func(ctx context.Context) error { return client.Until(ctx, attempt) })
	if err = errors.Join(hopeless, err); err == nil {
		x.record.Set(func(h *harness.History) { h.Before, h.BeforeBegan = &before, begun })
	}
	return err
}
