package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/model"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// Minimiser finds the simplest case of a cluster and replays it.
type Minimiser struct {
	Engine plan.Engine
	// Out is the sweep's folder: the cases go to its folder findings.
	Out string
	// Replays is the number of runs of each case. 0: nothing is minimised.
	Replays int
	// Once ends all replays when one has shown a new cluster: the sweep then ends with 1
	// in any case.
	Once bool
	// Parallel is how many cases work concurrently. Slots are the Slots of the Engine, if
	// it has some.
	Parallel int
	Slots    Slots
	// Origin, if any, returns a sentence about a case of the plan, for its minimised
	// form.
	Origin func(spec int) string

	reported *progress.Work
}

// shrinkTries is how often a smaller case runs without the finding before it is given up.
const shrinkTries = 2

// ShowAll finds the simplest case of each new cluster of a report, and writes it with its
// evidence. It records in Shown how often the case shows the cluster, and settles the
// report.
func (m Minimiser) ShowAll(ctx context.Context, p plan.Plan, r *triage.Report) error {
	if m.Replays == 0 {
		return nil
	}
	all := len(r.New) + len(r.Gone())
	m.reported = progress.Begin(ctx, "replays of new clusters and of gone findings", all,
		"clusters")
	defer m.reported.End()
	for i := range r.New {
		if err := m.show(ctx, p, &r.New[i]); err != nil {
			return err
		}
		if m.reported.Step(""); m.Once && r.New[i].Shown.Same > 0 {
			r.Settle(p)
			return nil
		}
	}
	for i := range r.Known {
		if r.Known[i].Gone {
			if err := m.showGone(ctx, p, &r.Known[i]); err != nil {
				return err
			}
			m.reported.Step("")
		}
	}
	r.Settle(p)
	return nil
}

// showGone replays the own cases of a known finding that have not shown it. One run
// proves nothing, because the load decides how far a process comes before another acts.
// The finding is gone if no replay of any of them shows it.
func (m Minimiser) showGone(ctx context.Context, p plan.Plan, known *triage.Known) error {
	for _, from := range known.Absent() {
		k, err := p.Specs[from].Case(p.Containerd)
		if err != nil {
			return err
		}
		known.Shown = &triage.Shown{Replays: m.Replays}
		k.Name = known.ID
		k.About = "The case of a known finding that did not show it in a sweep."
		if err := m.replay(ctx, k, known.Shown, known.ShownBy); err != nil || known.Shown.Same == 0 {
			return err
		}
	}
	return nil
}

// show extracts a case, minimises its faults, simplifies its workload and replays it. If
// it never shows the cluster again, it may be a race that another case of the cluster
// shows more often.
func (m Minimiser) show(ctx context.Context, p plan.Plan, c *triage.Cluster) error {
	var first *triage.Shown
	for _, from := range c.Simplest(p) {
		if err := m.showCase(ctx, p, c, from); err != nil {
			return err
		}
		if c.Shown.Same > 0 {
			return nil
		}
		if first == nil {
			first = c.Shown
		} else {
			first.Replays += c.Shown.Replays
		}
	}
	c.Shown = first
	return nil
}

// showCase shows a cluster by a case of the plan.
func (m Minimiser) showCase(ctx context.Context, p plan.Plan, c *triage.Cluster, from int) error {
	k, err := p.Specs[from].Case(p.Containerd)
	if err != nil {
		return err
	}
	shows := func(k harness.Case) (bool, error) { return m.shows(ctx, k, c) }
	if k, err = minimise(k, shows); err != nil {
		return err
	}
	if k, err = simplify(k, shows); err != nil {
		return err
	}
	name := c.Name
	if c.Shown != nil { // an earlier case did not show it again
		name += "-" + k.Name
	}
	c.Shown = &triage.Shown{Replays: m.Replays}
	k.Name = name
	k.About = fmt.Sprintf("%s. Seen at %d points, in %d cases of a sweep.", c.Left[0], c.Points, c.Cases)
	if m.Origin != nil {
		c.Shown.Origin = m.Origin(from)
		k.About += " " + c.Shown.Origin
	}
	return m.replay(ctx, k, c.Shown, c.ShownBy)
}

// replay writes a case, runs it, counts how often it shows the finding, and keeps the
// evidence of one such run.
func (m Minimiser) replay(ctx context.Context, k harness.Case, shown *triage.Shown,
	shows func(harness.Verdict) bool) error {
	dir := filepath.Join(m.Out, findings)
	shown.File = filepath.Join(dir, k.Name+".yaml")
	if err := m.write(k); err != nil {
		return fmt.Errorf("write the replayed case: %w", err)
	}
	verdicts := m.runs(ctx, k, m.Replays, k.Name+": replay", shows)
	shown.Replays = len(verdicts)
	for _, v := range verdicts {
		same := shows(v)
		if same {
			shown.Same++
		}
		if v.Evidence == "" {
			continue
		}
		var err error
		if same && shown.Evidence == "" {
			shown.Evidence = filepath.Join(dir, k.Name)
			if err = os.RemoveAll(shown.Evidence); err == nil {
				err = os.Rename(v.Evidence, shown.Evidence)
			}
		} else {
			err = os.RemoveAll(v.Evidence)
		}
		if err != nil {
			return fmt.Errorf("keep the cluster's evidence: %w", err)
		}
	}
	return ctx.Err()
}

// findings is the name of the folder of minimised cases, in the folder of a sweep.
const findings = "findings"

// write writes a case to the folder of minimised cases.
func (m Minimiser) write(k harness.Case) error {
	out, err := foreign.MakeDir(m.Out, 0o755)
	if err != nil {
		return err
	}
	return errors.Join(
		out.MkdirAll(findings, 0o755),
		out.Write(filepath.Join(findings, k.Name+".yaml"), []byte(k.String()), 0o644),
		out.Close(),
	)
}

// shows reports whether a case shows the cluster. It removes the case's evidence.
func (m Minimiser) shows(ctx context.Context, k harness.Case, c *triage.Cluster) (bool, error) {
	verdicts := m.runs(ctx, k, shrinkTries, c.Name+": minimise, run", c.ShownBy)
	for _, v := range verdicts {
		if err := os.RemoveAll(v.Evidence); err != nil { // "" is nothing to remove
			return false, err
		}
	}
	return slices.ContainsFunc(verdicts, c.ShownBy), ctx.Err()
}

// runs runs a case n times, or until one run shows the finding if that is enough; what
// describes the runs.
func (m Minimiser) runs(ctx context.Context, c harness.Case, n int, what string,
	shows func(harness.Verdict) bool) (all []harness.Verdict) {
	var begun, shown atomic.Int64
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(m.Slots.Worlds(m.Parallel))
	for range n {
		g.Go(func() error {
			if m.Once && shown.Load() > 0 {
				return nil
			}
			m.reported.Say(fmt.Sprintf("%s %d of %d", what, begun.Add(1), n))
			v := m.Slots.Run(ctx, m.Engine, c)
			if shows(v) {
				shown.Add(1)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, v)
			return nil
		})
	}
	_ = g.Wait() // never fails: the verdicts have the results
	return all
}

// minimise removes faults of a case while it shows the same: the result needs each of its
// faults.
func minimise(c harness.Case, shows func(harness.Case) (bool, error)) (harness.Case, error) {
	return reduce(c, func(c harness.Case) (out []harness.Case) {
		for i := range c.Plan {
			less := c
			if less.Plan = slices.Delete(slices.Clone(c.Plan), i, i+1); len(less.Plan) > 0 {
				out = append(out, less)
			}
		}
		return out
	}, shows)
}

// simplify returns the smallest workload with which a case shows the same.
func simplify(c harness.Case, shows func(harness.Case) (bool, error)) (harness.Case, error) {
	return reduce(c, func(c harness.Case) (out []harness.Case) {
		for _, w := range smaller(c.Workload) {
			less := c
			less.Workload = w
			out = append(out, less)
		}
		return out
	}, shows)
}

// reduce takes the first smaller form of a case that shows the same, until there is none.
func reduce(c harness.Case, smaller func(harness.Case) []harness.Case,
	shows func(harness.Case) (bool, error)) (harness.Case, error) {
	for again := true; again; {
		again = false
		for _, less := range smaller(c) {
			// A point may need a sandbox, and so CRI. A run without an end takes the time limit.
			if less.Check() != nil || endless(less) > endless(c) {
				continue
			}
			same, err := shows(less)
			if err != nil {
				return c, err
			}
			if same {
				c, again = less, true
				break
			}
		}
	}
	return c, nil
}

// endless returns the number of steps that wait for an end that does not come: of a
// process that no step ends. It returns 0 if a fault may end the shim and its processes.
func endless(c harness.Case) (n int) {
	if slices.ContainsFunc(c.Plan, func(f failpoints.Fault) bool { return f.At.Who == "shim" }) {
		return 0
	}
	steps, _ := c.Workload.Steps() // an error is a problem of the case
	expected, _ := model.Expect(c.Workload)
	for i, all := range expected {
		if !steps[i].Concurrent && slices.ContainsFunc(all, func(e model.Expected) bool { return len(e.Responses) == 0 }) {
			n++
		}
	}
	return n
}
