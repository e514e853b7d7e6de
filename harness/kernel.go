package harness

import (
	"context"
	"errors"

	"github.com/shimquake/shimquake/failpoints"
)

func (in *injector) press(ctx context.Context, i int, f failpoints.Fault) error {
	return errors.New("not yet")
}

func (in *injector) slow(ctx context.Context, i int, f failpoints.Fault) error {
	return errors.New("not yet")
}
