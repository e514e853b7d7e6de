package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

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

	mu    sync.Mutex
	shown []triage.Cluster // so far
	names map[string]int   // of files, with how many clusters had the name
}

// shrinkTries is how often a smaller case may run without the finding before the
// minimiser discards it.
const shrinkTries = 2

// ShowAll finds the simplest case of each new cluster of a report, and writes the case
// with its evidence. It records in Shown how often the case shows the cluster. A cluster
// that was shown during the sweep is not shown again.
func (m *Minimiser) ShowAll(ctx context.Context, p plan.Plan, r *triage.Report) error {
	all, ctx := errgroup.WithContext(ctx)
	if m.Once {
		all.SetLimit(1)
	}
	for i := range r.New {
		all.Go(func() error {
			if m.Once && i > 0 && m.reproduced() {
				return nil
			}
			return m.show(ctx, p, &r.New[i])
		})
	}
	return all.Wait()
}

// reproduced reports whether a replay has shown a cluster.
func (m *Minimiser) reproduced() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.shown, func(c triage.Cluster) bool { return c.Shown.Same > 0 })
}

// earlier returns how the cluster was shown before. If no replay showed it, that does not
// count when the cluster has more cases now.
func (m *Minimiser) earlier(c triage.Cluster) *triage.Shown {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, before := range m.shown {
		if c.Continues(before) && (before.Shown.Same > 0 || before.Cases == c.Cases) {
			return before.Shown
		}
	}
	return nil
}

// name returns a name for the files of a cluster. Its own name may be that of another
// cluster, because names depend on all results of the sweep.
func (m *Minimiser) name(c triage.Cluster) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.names == nil {
		m.names = map[string]int{}
	}
	if m.names[c.Name]++; m.names[c.Name] > 1 {
		return fmt.Sprintf("%s-%s", c.Name, c.Key())
	}
	return c.Name
}

// show minimises the faults of a case, simplifies its workload and replays it. If no
// replay shows the cluster, show tries another case of it, because the finding may be a
// race that another case shows more often.
func (m *Minimiser) show(ctx context.Context, p plan.Plan, c *triage.Cluster) error {
	if c.Shown = m.earlier(*c); c.Shown != nil || m.Replays == 0 {
		return nil
	}
	w := progress.Begin(ctx, "replays of "+c.Name, 0, "runs")
	defer w.End()
	var first *triage.Shown
	name := m.name(*c)
	for _, from := range c.Simplest(p) {
		if err := m.showCase(ctx, p, c, from, name, w); err != nil {
			return err
		}
		if c.Shown.Same > 0 {
			first = c.Shown
			break
		}
		if first == nil {
			first = c.Shown
		} else {
			first.Replays += c.Shown.Replays
		}
	}
	c.Shown = first
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shown = append(m.shown, *c)
	return nil
}

// showCase is show for one case of the plan.
func (m *Minimiser) showCase(ctx context.Context, p plan.Plan, c *triage.Cluster, from int, name string,
	w *progress.Work) error {
	k, err := p.Specs[from].Case(p.Containerd)
	if err != nil {
		return err
	}
	shows := func(k harness.Case) (bool, error) {
		verdicts, err := m.runs(ctx, k, shrinkTries, w, c.ShownBy, nil)
		return slices.ContainsFunc(verdicts, c.ShownBy), err
	}
	if k, err = minimise(k, shows); err != nil {
		return err
	}
	if k, err = simplify(k, shows); err != nil {
		return err
	}
	if c.Shown != nil { // a replay of an earlier case did not show the cluster
		name += "-" + k.Name
	}
	c.Shown = &triage.Shown{Replays: m.Replays}
	k.Name = name
	k.About = fmt.Sprintf("%s. Seen at %d points, in %d cases of a sweep.", c.Left[0], c.Points, c.Cases)
	return m.replay(ctx, k, c.Shown, w, c.ShownBy)
}

// replay writes a case, runs it, and counts how often it shows the finding. It keeps the
// evidence of one run that does.
func (m *Minimiser) replay(ctx context.Context, k harness.Case, shown *triage.Shown, w *progress.Work,
	shows func(harness.Verdict) bool) error {
	dir := filepath.Join(m.Out, findings)
	shown.File = filepath.Join(dir, k.Name+".yaml")
	if err := m.write(k); err != nil {
		return fmt.Errorf("write the replayed case: %w", err)
	}
	shown.Replays = 0
	_, err := m.runs(ctx, k, m.Replays, w, shows, func(t *engine.Task, v harness.Verdict) error {
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
func (m *Minimiser) write(k harness.Case) error {
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

// runs runs a case n times. If one run that shows the finding is enough, runs stops
// there.
func (m *Minimiser) runs(ctx context.Context, c harness.Case, n int, w *progress.Work,
	shows func(harness.Verdict) bool, visit func(*engine.Task, harness.Verdict) error) ([]harness.Verdict, error) {
	return m.Engine.Repeat(ctx, c, n, func(v harness.Verdict) bool {
		w.Step("")
		return m.Once && shows(v)
	}, visit)
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
