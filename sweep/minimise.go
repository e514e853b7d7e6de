package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/model"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// Minimiser finds the simplest case of a cluster and replays it. A replay is a further
// run of the case.
type Minimiser struct {
	Engine *engine.Engine
	// Out is the sweep's folder. The cases go to the folder "findings" in it.
	Out string
	// Replays is the number of runs of each case. With 0, nothing is minimised.
	Replays int
	// Once ends all replays as soon as one has shown a new cluster, because the sweep's
	// exit status is then 1 whatever the others show.
	Once bool

	reported *progress.Work
}

// shrinkTries is how often a smaller case may run without the finding before the
// minimiser discards it.
const shrinkTries = 2

// ShowAll finds the simplest case of each new cluster of a report, and writes the case
// with its evidence. It records in Shown how often the case shows the cluster.
func (m Minimiser) ShowAll(ctx context.Context, p plan.Plan, r *triage.Report) error {
	if m.Replays == 0 {
		return nil
	}
	m.reported = progress.Begin(ctx, "replays of new clusters", len(r.New), "clusters")
	defer m.reported.End()
	for i := range r.New {
		if err := m.show(ctx, p, &r.New[i]); err != nil {
			return err
		}
		if m.reported.Step(""); m.Once && r.New[i].Shown.Same > 0 {
			return nil
		}
	}
	return nil
}

// show minimises the faults of a case, simplifies its workload and replays it. If no
// replay shows the cluster, show tries another case of it, because the finding may be a
// race that another case shows more often.
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

// showCase is show for one case of the plan.
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
	if c.Shown != nil { // a replay of an earlier case did not show the cluster
		name += "-" + k.Name
	}
	c.Shown = &triage.Shown{Replays: m.Replays}
	k.Name = name
	k.About = fmt.Sprintf("%s. Seen at %d points, in %d cases of a sweep.", c.Left[0], c.Points, c.Cases)
	return m.replay(ctx, k, c.Shown, c.ShownBy)
}

// replay writes a case, runs it, and counts how often it shows the finding. It keeps the
// evidence of one run that does.
func (m Minimiser) replay(ctx context.Context, k harness.Case, shown *triage.Shown,
	shows func(harness.Verdict) bool) error {
	dir := filepath.Join(m.Out, findings)
	shown.File = filepath.Join(dir, k.Name+".yaml")
	if err := m.write(k); err != nil {
		return fmt.Errorf("write the replayed case: %w", err)
	}
	shown.Replays = 0
	_, err := m.runs(ctx, k, m.Replays, k.Name+": replays", shows, func(t *engine.Task, v harness.Verdict) error {
		shown.Replays++
		if !shows(v) {
			return nil
		}
		shown.Same++
		if v.Evidence == "" || shown.Evidence != "" {
			return nil
		}
		shown.Evidence = filepath.Join(dir, k.Name)
		if err := errors.Join(os.RemoveAll(shown.Evidence), os.Rename(v.Evidence, shown.Evidence)); err != nil {
			return fmt.Errorf("keep the cluster's evidence: %w", err)
		}
		return nil
	})
	return err
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

// shows runs a case and reports whether it shows the cluster.
func (m Minimiser) shows(ctx context.Context, k harness.Case, c *triage.Cluster) (bool, error) {
	verdicts, err := m.runs(ctx, k, shrinkTries, c.Name+": minimise, runs", c.ShownBy, nil)
	return slices.ContainsFunc(verdicts, c.ShownBy), err
}

// runs runs a case n times. If one run that shows the finding is enough, runs stops
// there. The text `what` describes the runs to the user.
func (m Minimiser) runs(ctx context.Context, c harness.Case, n int, what string, shows func(harness.Verdict) bool,
	visit func(*engine.Task, harness.Verdict) error) ([]harness.Verdict, error) {
	m.reported.SetStep(fmt.Sprintf("%s of %d", what, n))
	return m.Engine.Repeat(ctx, c, n, func(v harness.Verdict) bool { return m.Once && shows(v) }, visit)
}

// minimise removes faults of a case while it still shows the same. Without any one fault
// of the result, the case does not.
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

// simplify returns the case with the smallest workload that still shows the same.
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

// reduce replaces a case by its first smaller form that shows the same, until there is
// none.
func reduce(c harness.Case, smaller func(harness.Case) []harness.Case,
	shows func(harness.Case) (bool, error)) (harness.Case, error) {
	for again := true; again; {
		again = false
		for _, less := range smaller(c) {
			// An invalid case is skipped, for example because its point needs a sandbox,
			// and so CRI. A case with more steps that wait for ever is skipped,
			// because it runs until its time limit.
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

// endless returns the number of steps that wait for ever, because no step ends their
// process. It returns 0 if a fault may end the shim and its processes.
func endless(c harness.Case) (n int) {
	if slices.ContainsFunc(c.Plan, func(f failpoints.Fault) bool { return f.At.Who == "shim" }) {
		return 0
	}
	steps, _ := c.Workload.Steps() // ignored here: Case.Check reports an invalid script
	expected, _ := model.Expect(c.Workload)
	for i, all := range expected {
		if !steps[i].Concurrent && slices.ContainsFunc(all, func(e model.Expected) bool { return len(e.Responses) == 0 }) {
			n++
		}
	}
	return n
}
