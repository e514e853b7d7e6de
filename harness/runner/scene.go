package runner

import (
	"context"
	"fmt"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	under "github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// scene returns what package inventory reads of the world, without a connection to
// containerd.
func (x *run) scene() inventory.Scene {
	return inventory.Scene{
		Root: x.world.HostPath("/"), Proc: x.world.Proc(), State: daemon.StateDir,
		ContainerdRoot: x.world.RootDir(), CgroupDirs: x.world.CgroupDirs(),
		FIFODirs: []string{"/run/containerd/fifo", x.world.FIFODir()},
		FileDirs: []string{"/", x.world.RootDir(), x.world.Dir()}, OwnFile: x.world.IsHarnessFile,
		Networks: x.networks, CollectIn: daemon.TaskNamespace,
		Own: func(pid int) bool {
			return pid == 1 || pid == x.daemon.PID()
		},
	}
}

// up waits until containerd responds.
func (x *run) up(ctx context.Context) (*containerd.Client, *grpc.ClientConn, error) {
	return x.daemon.Connect(ctx)
}

// sceneUp waits until containerd responds, and returns the scene with a connection to it.
func (x *run) sceneUp(ctx context.Context) (inventory.Scene, error) {
	c, _, err := x.up(ctx)
	if err != nil {
		return inventory.Scene{}, err
	}
	s := x.scene()
	s.Client, s.Daemon, s.Profile = c, x.daemon.PID(), x.daemon.Goroutines
	s.ShimProfile = x.inject.Controller.Profile
	return s, nil
}

// withPlugins calls ask. If containerd lacks a plugin because a fault broke the plugin's
// init, withPlugins restarts containerd and calls ask again. Each of these three steps
// has the workload's whole time limit, because calls to a missing plugin can take all of
// it.
func (x *run) withPlugins(ask func(context.Context) error) error {
	err := x.limited(ask)
	if !x.lacksPlugin(err) {
		return err
	}
	if err := x.limited(x.daemon.Restart); err != nil {
		return err
	}
	return x.limited(ask)
}

// lookTimeout is the least time limit for what the oracle asks containerd. The client of
// a case may have less.
const lookTimeout = 20 * time.Second

// lookLimit returns the time limit for what the oracle asks containerd. A workload with a
// slow disk has a long time limit, and then the oracle waits as long.
func (x *run) lookLimit() time.Duration { return max(x.Workload.TimeLimit, lookTimeout) }

// limited calls f with the oracle's time limit.
func (x *run) limited(f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(x.ctx, x.lookLimit())
	defer cancel()
	return f(ctx)
}

// lacksPlugin reports whether an error means that containerd lacks a plugin, and a fault
// can be the reason.
func (x *run) lacksPlugin(err error) bool {
	return err != nil && callerr.Of(err).Code == codes.Unimplemented.String() && x.inject.AnyFired()
}

// Scene is the argument of a Runner's Sabotage: a world after its client is done, just
// before the inventory.
type Scene struct {
	// Scene has what package inventory reads, with a connection to containerd.
	inventory.Scene
	World   *world.World
	Subject *under.Subject
	// Address is containerd's gRPC socket, the same inside and outside of the world.
	Address string
}

// sabotage calls Runner.Sabotage, which plants a leak. An error makes the verdict
// invalid.
func (x *run) sabotage() error {
	if x.runner.Sabotage == nil {
		return nil
	}
	s, err := x.sceneUp(x.ctx)
	if err != nil {
		return err
	}
	x.record.Note("harness", "sabotage")
	err = x.runner.Sabotage(
		x.ctx,
		Scene{Scene: s, World: x.world, Subject: x.subject.Subject, Address: x.daemon.Address()},
	)
	if err != nil {
		return fmt.Errorf("sabotage: %w", err)
	}
	return nil
}
