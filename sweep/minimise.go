package sweep

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/shimquake/shimquake/harness"
)

// Shown is the case that shows a finding.
type Shown struct {
	// File is the case, for `shimquake run`.
	File string `json:"case"`
	// Replays of it were made, Same of which left all that the finding is about.
	Replays int `json:"replays"`
	Same    int `json:"same"`
	// Evidence of one of these.
	Evidence string `json:"evidence,omitempty"`
}

func (s *Shown) String() string {
	text := s.File
	if s.Replays > 0 {
		text += fmt.Sprintf(", %d of %d replays", s.Same, s.Replays)
	}
	return text
}

// Minimiser finds the simplest case of a finding and replays it.
type Minimiser struct {
	Engine Engine
	// Out is the sweep's folder: cases go to its folder findings.
	Out string
	// Replays is how often each is run.
	Replays int
	// Parallel is how many cases work at once, Slots those of the Engine, if it has some.
	Parallel int
	Slots    Slots
}

// Show writes the simplest case of a finding, with its evidence, and says how often it shows it.
func (m Minimiser) Show(ctx context.Context, p Plan, g *Group) error {
	c, err := m.simplest(ctx, p, g)
	if err != nil {
		return err
	}
	return m.ShowBy(ctx, c, g, "")
}

// ShowBy shows a finding by a case that has been chosen already; note is a sentence about it.
func (m Minimiser) ShowBy(ctx context.Context, c harness.Case, g *Group, note string) (err error) {
	c.Name = g.Name
	c.About = fmt.Sprintf("%s. Seen at %d points, in %d cases of a sweep.", g.Left[0], g.Points, g.Cases)
	if note != "" {
		c.About += " " + note
	}
	dir := filepath.Join(m.Out, "findings")
	g.Shown = &Shown{File: filepath.Join(dir, g.Name+".yaml"), Replays: m.Replays}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write the finding's case: %w", err)
	}
	if err := os.WriteFile(g.Shown.File, []byte(c.String()), 0o644); err != nil {
		return fmt.Errorf("write the finding's case: %w", err)
	}
	verdicts := m.runs(ctx, c, m.Replays)
	for _, v := range verdicts {
		same := m.same(v, g)
		if same {
			g.Shown.Same++
		}
		if v.Evidence == "" {
			continue
		}
		if same && g.Shown.Evidence == "" {
			g.Shown.Evidence = filepath.Join(dir, g.Name)
			err = os.RemoveAll(g.Shown.Evidence)
			if err == nil {
				err = os.Rename(v.Evidence, g.Shown.Evidence)
			}
		} else {
			err = os.RemoveAll(v.Evidence)
		}
		if err != nil {
			return fmt.Errorf("keep the finding's evidence: %w", err)
		}
	}
	return ctx.Err()
}

// same says whether a verdict shows all that the finding is about.
func (m Minimiser) same(v harness.Verdict, g *Group) bool {
	main, with := signatures(v.Violations(), sharesShim(v.Case.Workload))
	return v.Outcome == harness.Violated && subset(g.Left, slices.Concat(main, with))
}

// runs runs a case n times.
func (m Minimiser) runs(ctx context.Context, c harness.Case, n int) []harness.Verdict {
	out := make([]harness.Verdict, n)
	var g errgroup.Group
	g.SetLimit(m.Slots.worlds(m.Parallel))
	for i := range out {
		g.Go(func() error {
			m.Slots.take()
			defer m.Slots.give()
			out[i] = m.Engine.Run(ctx, c)
			return nil
		})
	}
	_ = g.Wait() // nothing fails: verdicts tell
	return out
}

// simplest is the group's case with the simplest action on the smallest workload, in a smaller workload still if that shows the same.
func (m Minimiser) simplest(ctx context.Context, p Plan, g *Group) (harness.Case, error) {
	specs := make([]Spec, len(g.members))
	for i, mem := range g.members {
		specs[i] = p.Specs[mem.spec]
	}
	s := slices.MinFunc(specs, func(a, b Spec) int {
		return cmp.Or(cmp.Compare(len(a.deeds()), len(b.deeds())), cmp.Compare(btoi(a.Unsteady), btoi(b.Unsteady)), cmp.Compare(simplicity(a.Action), simplicity(b.Action)),
			cmp.Compare(cost(a.Workload), cost(b.Workload)), cmp.Compare(a.Nth, b.Nth))
	})
	best, err := s.Case(p.Containerd)
	if err != nil {
		return best, err
	}
	for _, alone := range s.alone() {
		try, err := alone.Case(p.Containerd)
		if err != nil {
			return best, err
		}
		shows, err := m.shows(ctx, try, g)
		if err != nil {
			return best, err
		}
		if shows {
			best = try
			break
		}
	}
	for _, w := range smaller(best.Workload) {
		try := best
		try.Workload = w
		if try.Check() != nil {
			continue
		}
		shows, err := m.shows(ctx, try, g)
		if err != nil {
			return best, err
		}
		if shows {
			best = try
			break
		}
	}
	return best, ctx.Err()
}

// shows runs a case once and says whether it shows the finding. Its evidence is thrown away.
func (m Minimiser) shows(ctx context.Context, c harness.Case, g *Group) (bool, error) {
	v := m.runs(ctx, c, 1)[0]
	if v.Evidence != "" {
		if err := os.RemoveAll(v.Evidence); err != nil {
			return false, err
		}
	}
	return m.same(v, g), nil
}

// smaller are workloads with less in them than w, the smallest first.
func smaller(w harness.Workload) []harness.Workload {
	var out []harness.Workload
	if w.API == harness.CRI || len(w.Containers) > 1 {
		out = append(out, harness.Workload{Containers: w.Containers[:1]})
	}
	if w.API == harness.CRI && len(w.Containers) > 1 {
		for i := range w.Containers {
			less := w
			less.Containers = w.Containers[i : i+1]
			out = append(out, less)
		}
	}
	return out
}
