package control

import (
	"context"

	. "github.com/onsi/ginkgo/v2"

	"github.com/containerd/containerd/v2/client"

	"github.com/shimquake/shimquake/harness/runner"
)

// leaveConnection makes containerd hold a connection, with the goroutines that serve it:
// from outside of it a client alone can make it hold something.
func leaveConnection(ctx context.Context, s runner.Scene) error {
	c, err := client.New(s.Address)
	if err != nil {
		return err
	}
	DeferCleanup(c.Close)
	_, err = c.Version(ctx) // or it would not have dialled yet
	return err
}

// leaveSubscription makes it hold no descriptor: its goroutines alone tell of a call that
// does not end.
func leaveSubscription(_ context.Context, s runner.Scene) error {
	ctx, end := context.WithCancel(context.Background())
	DeferCleanup(end)
	s.Client.EventService().Subscribe(ctx)
	return nil
}
