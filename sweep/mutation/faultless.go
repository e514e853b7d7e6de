package mutation

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/plain"
	"github.com/shimquake/shimquake/harness/runner"
)

// parallel is how many cases run concurrently if none of them waits idle. worlds is the
// number in a sweep, in which a case with a leak waits idle. Both are for two processors.
const (
	parallel = 4
	worlds   = 6
)

// RunFaultless runs count cases without faults on a containerd, and takes each kind of
// case in turn. It calls report with each verdict, one at a time.
func RunFaultless(ctx context.Context, r *runner.Runner, containerd string, count int,
	report func(harness.Verdict)) error {
	if err := r.Prepare(ctx, containerd); err != nil {
		return fmt.Errorf("prepare containerd %s: %w", containerd, err)
	}
	verdicts := make(chan harness.Verdict)
	var busy, resting []harness.Case
	all := plain.Cases()
	for i := range count {
		c := all[i%len(all)]
		if c.Containerd = containerd; c.Workload.Soaks() > time.Second {
			resting = append(resting, c)
		} else {
			busy = append(busy, c)
		}
	}
	var running sync.WaitGroup
	for _, cases := range [][]harness.Case{busy, resting} { // resting cases use little CPU time
		running.Go(func() {
			var g errgroup.Group
			g.SetLimit(parallel)
			for _, c := range cases {
				g.Go(func() error {
					if ctx.Err() == nil {
						verdicts <- r.Run(ctx, c)
					}
					return nil
				})
			}
			_ = g.Wait() // no function returns an error
		})
	}
	go func() {
		running.Wait()
		close(verdicts)
	}()
	for v := range verdicts {
		report(v)
	}
	return ctx.Err()
}
