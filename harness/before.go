package harness

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/shimquake/shimquake/oracle"
)

// takeBefore takes the inventory that the one after is compared with. What containerd is asked for it passes points, too: a fault may meet it there,
// and then it is asked again.
func (x *experiment) takeBefore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, x.Workload.Deadline)
	defer cancel()
	var hopeless error
	x.timeline.note("oracle", "looks at what there is before")
	err := until(ctx, func(ctx context.Context) error {
		scene, err := x.sceneUp(ctx)
		if err != nil {
			return err
		}
		if x.before, err = oracle.Take(ctx, scene); err == nil {
			return nil
		}
		err = fmt.Errorf("take the inventory before: %w", err)
		if !x.inject.anyFired() { // nothing was broken: there is no reason to try again
			hopeless = err
			return nil
		}
		if status.Code(err) == codes.Unimplemented { // a plugin's init met the fault, and only a restart mends that
			err = errors.Join(err, x.daemon.Restart(ctx))
		}
		return err
	})
	return errors.Join(hopeless, err)
}
