package inject

import (
	"context"
	"testing"

	containerd "github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/record"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// fake is a containerd that stays down after Kill until Release.
type fake struct{ down bool }

func (f *fake) PID() int                     { return 2 }
func (f *fake) Kill(context.Context) error   { f.down = true; return nil }
func (f *fake) Freeze(context.Context) error { return nil }
func (f *fake) Thaw(context.Context) error   { return nil }
func (f *fake) Release()                     { f.down = false }

func (f *fake) Connect(context.Context) (*containerd.Client, *grpc.ClientConn, error) {
	return nil, nil, nil
}

// paused runs the steps of a pause, and returns their containerd.
func paused(t *testing.T, steps ...string) *fake {
	t.Helper()
	d := &fake{}
	none, noProcesses := make(chan struct{}), func() ([]inventory.Process, error) { return nil, nil }
	close(none)
	in := New(t.Context(), harness.Case{}, Target{
		Daemon: d, Processes: noProcesses, Removed: none,
		InitPID:        func(context.Context, string) (int, error) { return 0, signal.ErrGone },
		InFlight:       func() (func(), <-chan struct{}) { return func() {}, none },
		Exited:         func(context.Context) error { return nil },
		AskWhilePaused: func(context.Context, string) error { return nil },
	}, &record.Recorder{})
	in.onPause(failpoints.Pause{
		Fault:   failpoints.PauseAt("rpc:shim:Task.Delete:entry", failpoints.Steps(steps...)...),
		Release: func() {},
	})
	return d
}

// containerd starts again after "kill containerd" and any last step, also if that step
// fails. There are no processes here to which a signal could be sent.
func TestContainerdIsStartedWhenTheStepsEnd(t *testing.T) {
	for _, last := range []string{
		"release", "sleep 1ms", "cancel call", "await call", "await removal", "await exit", "kill shim", "stop shim",
		"cont shim", "ask task", "kill task", "kill sandbox", "start containerd", "stop containerd", "cont containerd",
		"kill containerd",
	} {
		if paused(t, "kill containerd", last).down {
			t.Errorf("kill containerd, %s: it stays down", last)
		}
	}
	if paused(t, "kill containerd", "start containerd", "kill containerd", "release").down {
		t.Error("killed twice, it stays down")
	}
}

// Steps that do not kill containerd do not start it: another fault of the plan may keep
// it down.
func TestStepsThatKillNothingStartNothing(t *testing.T) {
	d := &released{}
	in := New(t.Context(), harness.Case{}, Target{Daemon: d,
		InFlight: func() (func(), <-chan struct{}) { return nil, nil }}, &record.Recorder{})
	in.onPause(failpoints.Pause{
		Fault:   failpoints.PauseAt("rpc:shim:Task.Delete:entry", failpoints.Steps("sleep 1ms", "release")...),
		Release: func() {},
	})
	must.Equal(t, d.n, 0, "releases")
}

// released counts the calls of Release.
type released struct {
	fake
	n int
}

func (r *released) Release() { r.n++ }
