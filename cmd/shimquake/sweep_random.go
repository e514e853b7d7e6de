package main

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/sweep"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/random"
)

// randomFlags are the flags of `shimquake sweep --random`.
type randomFlags struct {
	on     bool
	length time.Duration
	plans  int
	seed   uint64
}

func (f *randomFlags) register(c *cobra.Command) {
	c.Flags().BoolVar(&f.on, "random", false,
		"run random plans of up to four faults, until --for or --plans")
	c.Flags().DurationVar(&f.length, "for", 0, "stop starting random plans after this time")
	c.Flags().IntVar(&f.plans, "plans", 0, "the maximum number of random plans")
	c.Flags().Uint64Var(&f.seed, "seed", 0,
		"the seed of the first random plan; later plans count up from it (default: a new seed, which is printed)")
}

func (f *randomFlags) check() error {
	switch {
	case !f.on && (f.length != 0 || f.plans != 0 || f.seed != 0):
		return errors.New("--for, --plans and --seed need --random")
	case f.on && (f.length <= 0 && f.plans <= 0 || f.length < 0 || f.plans < 0):
		return errors.New("--random needs an end: --for 30m, or --plans 100")
	}
	return nil
}

// randomPlans fills in the default workloads and actions of random plans.
func randomPlans(o plan.Options) plan.Options {
	if len(o.Workloads) == 0 {
		o.Workloads = []string{"task", "two", "grouped", "restart", "cri"}
	}
	if len(o.Actions) == 0 {
		o.Actions = []string{"crash", "error", "cancel", "deadline", "delay(200)"}
	}
	o.EveryWorkload, o.Hits = true, "path"
	return o
}

// tell reports when the random plans end.
func (f *randomFlags) tell(w *progress.Work) {
	w.SetRemaining(f.plans)
	if f.length > 0 {
		w.Until(time.Now().Add(f.length))
	}
}

// draw makes a sweep of random plans. They are drawn from the sweep's plan, which draw
// keeps in a file: a seed gives the same random plans only with the same points.
func (f *randomFlags) draw(s *sweep.Schedule, out string) error {
	base, seed := s.Head.Plan, cmp.Or(f.seed, rand.Uint64()>>16|1) // Short enough to type.
	draw, err := random.New(base)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("random plans: %w", err)
	}
	file := filepath.Join(out, "plan.json")
	if err := base.Write(file); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "random plans from seed %d and the points of %s\n", seed, file)
	s.Head.Random = true
	s.Head.Plan.Options = fmt.Sprintf("--random --seed %d --plans %d --for %s", seed, f.plans, f.length)
	s.Head.Plan.Specs = nil
	s.Head.Plan = s.Head.Plan.WithDigest()
	s.Draw = func(yield func(plan.Spec) bool) {
		until := time.Now().Add(f.length)
		for n := uint64(0); f.plans == 0 || n < uint64(f.plans); n++ {
			if f.length > 0 && time.Now().After(until) || !yield(draw(seed+n)) {
				return
			}
		}
	}
	return nil
}
