package mutation

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/plain"
	"github.com/shimquake/shimquake/harness/runner"
)

// worlds is how many cases run concurrently, for two processors.
const worlds = 6

// RunFaultless runs count cases without faults on a containerd, and takes each kind of
// case in turn. It calls report with each verdict, one at a time.
func RunFaultless(ctx context.Context, r *runner.Runner, containerd string, count int,
	report func(harness.Verdict)) error {
	if err := r.Prepare(ctx, containerd); err != nil {
		return fmt.Errorf("prepare containerd %s: %w", containerd, err)
	}
	verdicts := make(chan harness.Verdict)
	all := plain.Cases()
	var g errgroup.Group
	g.SetLimit(worlds)
	go func() {
		for i := range count {
			c := all[i%len(all)]
			c.Containerd = containerd
			g.Go(func() error {
				if ctx.Err() == nil {
					verdicts <- r.Run(ctx, c)
				}
				return nil
			})
		}
		_ = g.Wait() // no function returns an error
		close(verdicts)
	}()
	for v := range verdicts {
		report(v)
	}
	return ctx.Err()
}
