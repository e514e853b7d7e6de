package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/shimquake/shimquake/failpoints/iopressure"
	"github.com/shimquake/shimquake/failpoints/slowsys"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/gobuild"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/harness"
)

// IsUnsupported reports whether an error means that this machine cannot run the case.
func IsUnsupported(err error) bool {
	for _, e := range []error{
		world.ErrNotRoot, world.ErrNoCgroup, world.ErrLacksController, iopressure.ErrNoController, iopressure.ErrNoLoop,
		iopressure.ErrNoMkfs, slowsys.ErrNoStrace, gobuild.ErrNoGo, world.ErrRlimit,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// kindOf returns the kind of problem for an error. It returns otherwise for an error that
// it does not know.
func kindOf(err error, otherwise harness.ProblemKind) harness.ProblemKind {
	var boot *daemon.BootError
	var in *inputError
	switch {
	case IsUnsupported(err):
		return harness.ByMachine
	case errors.As(err, &boot):
		return harness.ByBoot
	case errors.As(err, &in):
		return harness.ByInput
	case errors.Is(err, world.ErrInitGone):
		return harness.ByHarness
	case errors.Is(err, errEnded):
		return harness.ByEnd
	}
	return otherwise
}

// inputError reports a case that no machine can run.
type inputError struct{ error }

func (e *inputError) Unwrap() error { return e.error }

func input(err error) error { return &inputError{err} }

// errEnded reports that the run was interrupted.
var errEnded = errors.New("the run was interrupted")

// ended returns the reason why the context of a run ended: the run was interrupted, or
// the init process of the world died.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, world.ErrInitGone) {
		return fmt.Errorf("%w during the case, without a fault", cause)
	}
	return fmt.Errorf("%w: %w", errEnded, cause)
}
