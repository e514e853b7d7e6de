package harness

import (
	"context"
	"fmt"

	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/oracle"
)

// Scene is what a Runner's Sabotage may lay hands on: a world whose client is done, just before the oracle looks.
type Scene struct {
	// Scene is the world as the oracle sees it, with a client of the containerd in it.
	oracle.Scene
	World   *world.World
	Subject *containerd.Subject
	// Address is containerd's gRPC socket, the same inside and outside of the world.
	Address string
}

// sabotage lets a control plant what the oracle must find. An error makes the verdict invalid.
func (x *experiment) sabotage(ctx context.Context) error {
	if x.runner.Sabotage == nil {
		return nil
	}
	s, err := x.sceneUp(ctx)
	if err != nil {
		return err
	}
	x.timeline.note("harness", "sabotage")
	err = x.runner.Sabotage(ctx, Scene{Scene: s, World: x.world, Subject: x.subject.Subject, Address: x.daemon.Address()})
	if err != nil {
		return fmt.Errorf("sabotage: %w", err)
	}
	return nil
}
