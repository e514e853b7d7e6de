package control

import (
	"context"

	. "github.com/onsi/ginkgo/v2"

	"github.com/containerd/containerd/v2/client"

	"github.com/shimquake/shimquake/harness/runner"
)

// leaveConnection makes containerd hold a connection and its goroutines: only a client
// can make it hold something from outside.
func leaveConnection(ctx context.Context, s runner.Scene) error {
	c, err := client.New(s.Address)
	if err != nil {
		return err
	}
	DeferCleanup(c.Close)
	_, err = c.Version(ctx) // dials the connection
	return err
}

// leaveSubscription leaves a call that does not end. It shows only in goroutines, not in
// descriptors.
func leaveSubscription(_ context.Context, s runner.Scene) error {
	ctx, end := context.WithCancel(context.Background())
	DeferCleanup(end)
	s.Client.EventService().Subscribe(ctx)
	return nil
}
