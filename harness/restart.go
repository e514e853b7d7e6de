package harness

import (
	"context"
	"slices"
)

// restarts says whether containerd is restarted in the midst of the lifecycle of these containers: of the workload's, not of a first id that is used
// again.
func (x *experiment) restarts(ks []*container) bool {
	return x.Workload.Restart && slices.Equal(ks, x.client.all())
}

// restart restarts containerd and waits until it answers. That it does not is the oracle's to judge.
func (x *experiment) restart(ctx context.Context) {
	err := x.daemon.Restart(ctx)
	x.timeline.note("client", "containerd restarted: %v", err)
}
