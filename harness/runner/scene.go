package runner

import (
	"context"
	"fmt"

	containerd "github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	under "github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// scene is the world as the oracle sees it, without containerd.
func (x *run) scene() inventory.Scene {
	return inventory.Scene{
		Root: x.world.Inside(
			"/",
		), State: daemon.StateDir, ContainerdRoot: x.world.RootDir(), CgroupDirs: x.world.CgroupDirs(),
		FIFODirs: []string{"/run/containerd/fifo", x.world.FIFODir()},
		FileDirs: []string{"/", x.world.RootDir(), x.world.Dir()}, OwnFile: x.world.OwnFile,
		Networks: x.networks, CollectIn: daemon.TaskNamespace,
		Own: func(pid int) bool {
			return pid == 1 || pid == x.daemon.PID()
		},
	}
}

// up waits until containerd answers.
func (x *run) up(ctx context.Context) (*containerd.Client, *grpc.ClientConn, error) {
	return x.daemon.Up(ctx)
}

// sceneUp is the scene with a containerd that answers.
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

// withPlugins asks containerd, and once more after a restart where it lacks a plugin
// whose init has met a fault: only a restart fixes that.
func (x *run) withPlugins(ctx context.Context, ask func() error) error {
	err := ask()
	if !x.lacksPlugin(err) {
		return err
	}
	if err := x.daemon.Restart(ctx); err != nil {
		return err
	}
	return ask()
}

// lacksPlugin reports whether an error means that a fault has kept a plugin from being
// there.
func (x *run) lacksPlugin(err error) bool {
	return err != nil && callerr.Code(err) == codes.Unimplemented && x.inject.AnyFired()
}

// Scene is what a Runner's Sabotage may lay hands on: a world whose client is done, just
// before the oracle looks.
type Scene struct {
	// Scene is the world as the oracle sees it, with a client of the containerd in it.
	inventory.Scene
	World   *world.World
	Subject *under.Subject
	// Address is containerd's gRPC socket, the same inside and outside of the world.
	Address string
}

// sabotage lets a control plant what the oracle must find. An error makes the verdict
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
