package mutation

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/plain"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/must"
)

var faultless = flag.Int("faultless", 20, "how many cases without a fault TestFaultless runs on the untouched release")

func caseRunner(t *testing.T) *runner.Runner {
	t.Helper()
	if err := world.Check(); err != nil {
		t.Skipf("worlds cannot be made here: %v", err)
	}
	return &runner.Runner{Residues: catalogue.Residues(), Evidence: "../../out/mutation/evidence"}
}

// Every single case without a fault holds. `make faultless` runs a thousand.
func TestFaultless(t *testing.T) {
	if *faultless < 1 {
		t.Fatalf("-faultless %d runs nothing: at least 1", *faultless)
	}
	r, begun := caseRunner(t), time.Now()
	held, ran, again := 0, 0, 0
	must.Succeed(t, runFaultless(t.Context(), r, Release, *faultless, func(v harness.Verdict) {
		ran++
		if v.History.Again != "" {
			again++
		}
		if v.Outcome == harness.Held {
			held++
			return
		}
		t.Errorf("verdict %d: %v", ran, v)
	}))
	took := time.Since(begun)
	t.Logf("%d of %d held in %s, %.1f a second; %d ran again, alone", held, *faultless, took.Round(time.Second),
		float64(held)/took.Seconds(), again)
}

// worlds is how many cases run concurrently, for two processors.
const worlds = 6

// runFaultless runs count cases without faults on a containerd, and takes each kind of
// case in turn. It calls report with each verdict, one at a time.
func runFaultless(ctx context.Context, r *runner.Runner, containerd string, count int,
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
