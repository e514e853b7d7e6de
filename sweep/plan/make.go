package plan

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/weave"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/sweep/engine"
)

// traceRuns is the number of traces of each workload. Goroutines race, and the plan omits
// the hits that only some runs have.
const traceRuns = 6

// Make runs and traces the workloads on the subject, and makes the plan. If the cache has
// the plan, Make does not trace.
func Make(ctx context.Context, e *engine.Engine, o Options) (Plan, error) {
	o = o.WithDefaults()
	if err := o.Check(); err != nil {
		return Plan{}, err
	}
	names := append(slices.Clone(o.Workloads), o.further()...)
	traces := make([]Traces, len(names))
	made, known := o.cached()
	var runs []func(*engine.Task) error
	for i, name := range names {
		n := furtherRuns
		if i < len(o.Workloads) {
			n = traceRuns
			if !o.AsItIs {
				runs = append(runs, func(t *engine.Task) error { return CheckFaultless(t, o, name) })
			}
		}
		if known {
			continue
		}
		traces[i] = Traces{Workload: name, Runs: make([][]Hit, n)}
		for k := range n {
			runs = append(runs, func(t *engine.Task) (err error) {
				traces[i].Runs[k], err = Trace(t, o, name)
				return err
			})
		}
	}
	w := progress.Begin(ctx, "tracing the workloads of the plan", 0, "runs")
	defer w.End()
	err := TraceAll(ctx, e, w, len(runs), func(t *engine.Task, i int) error { return runs[i](t) })
	if err != nil || known {
		return made, err
	}
	after, err := traceDeaths(ctx, e, o.Containerd, o.death(traces[:len(o.Workloads)]), w)
	if err != nil {
		return Plan{}, err
	}
	traces = append(traces, after...)
	if err := o.markEffects(ctx, traces); err != nil {
		return Plan{}, err
	}
	p, err := New(o, traces)
	if err == nil {
		p, err = p.Complete(ctx)
	}
	if err != nil {
		return p, err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return p, fmt.Errorf("keep the plan: %w", err)
	}
	return p, o.keep(o.planFile(), text)
}

// TraceAll calls a function n times, to trace n cases.
func TraceAll(ctx context.Context, e *engine.Engine, w *progress.Work, n int,
	trace func(t *engine.Task, i int) error) error {
	w.SetRemaining(n)
	return engine.Each(ctx, e, engine.Indexes(n), func(t *engine.Task, i int) (int, error) { return i, trace(t, i) },
		func(*engine.Task, int) error { w.Step(""); return nil })
}

// traceDeaths traces each of these cases furtherRuns times. It omits a case whose fault
// does not fire in each run.
func traceDeaths(ctx context.Context, e *engine.Engine, containerd string, cases []Spec,
	w *progress.Work) ([]Traces, error) {
	all := make([]Traces, len(cases))
	for i, s := range cases {
		fault := s.Last()
		all[i] = Traces{Workload: s.Workload, Runs: make([][]Hit, furtherRuns), After: &fault}
	}
	err := TraceAll(ctx, e, w, len(cases)*furtherRuns, func(t *engine.Task, i int) (err error) {
		of := all[i/furtherRuns].Runs
		of[i%furtherRuns], _, err = TraceAfter(t, containerd, cases[i/furtherRuns])
		return err
	})
	return slices.DeleteFunc(all, func(t Traces) bool {
		return slices.ContainsFunc(t.Runs, func(run []Hit) bool { return run == nil })
	}), err
}

// markEffects sets Effect for the hits of statements. It does nothing with --points,
// because the user may want all faults at these statements.
func (o Options) markEffects(ctx context.Context, traces []Traces) error {
	if o.Narrowed() != "" {
		return nil
	}
	all, err := statements(ctx, o.Containerd)
	if err != nil {
		return err
	}
	for _, t := range traces {
		for _, run := range t.Runs {
			for i := range run {
				run[i].Effect = all[run[i].Point].Effect
			}
		}
	}
	return nil
}

// Complete adds the version and the digest of the containerd under test and the source
// lines of the statements, and returns the sealed plan.
func (p Plan) Complete(ctx context.Context) (Plan, error) {
	var err error
	if p.Version, p.Subject, err = Identify(ctx, p.Containerd); err != nil {
		return p, err
	}
	if err := p.locate(ctx); err != nil {
		return p, err
	}
	return p.WithDigest(), p.check("plan")
}

// locate notes the source lines of the plan's statements.
func (p *Plan) locate(ctx context.Context) error {
	all, err := statements(ctx, p.Containerd)
	if err != nil {
		return err
	}
	p.Places = map[failpoints.Point]Place{}
	for _, spec := range p.Specs {
		at := spec.Last().Point
		if st, ok := all[at]; ok {
			p.Places[at] = Place{st.File, st.Line}
		}
	}
	return nil
}

// statements returns the statements of a containerd by their points.
func statements(ctx context.Context, spec string) (map[failpoints.Point]weave.Statement, error) {
	s, err := containerd.Resolve(ctx, spec, containerd.Options{})
	if err != nil {
		return nil, err
	}
	all, err := s.Statements()
	by := make(map[failpoints.Point]weave.Statement, len(all))
	for _, st := range all {
		by[containerd.StatementPoint(st)] = st
	}
	return by, err
}

// Identify returns the version of a containerd, and the digest of its containerd and shim
// binaries.
func Identify(ctx context.Context, spec string) (version, digest string, err error) {
	s, err := containerd.Resolve(ctx, spec, containerd.Options{})
	if err != nil {
		return "", "", err
	}
	h := sha256.New()
	for _, name := range []string{s.Containerd, s.Shim} {
		f, err := foreign.OpenTyped(name, 1<<30)
		if err != nil {
			return "", "", fmt.Errorf("identify the containerd under test: %w", err)
		}
		_, err = io.Copy(h, f)
		_ = f.Close() // it was only read
		if err != nil {
			return "", "", fmt.Errorf("identify the containerd under test: %w", err)
		}
	}
	return s.Version, hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// CheckSubject returns an error if the binaries under test have changed since the plan
// was made.
func (p Plan) CheckSubject(ctx context.Context) error {
	version, digest, err := Identify(ctx, p.Containerd)
	if err != nil {
		return err
	}
	if digest != p.Subject {
		return fmt.Errorf("plan %s was made for other binaries of containerd %q: planned %s (%s), now %s (%s); "+
			"sweep again in another folder (--out)", p.Digest, p.Containerd, p.Version, p.Subject, version, digest)
	}
	return nil
}
