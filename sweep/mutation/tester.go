package mutation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/sweep"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// Tester sweeps mutated sources.
type Tester struct {
	Runner *runner.Runner
	// Out is the folder for the journals, one folder a sweep. What an earlier test left
	// there is removed.
	Out string
	// Parallel is how many worlds run concurrently. Default: 6.
	Parallel int
	// Reuse takes the sweeps of the untouched source that an earlier test has left in Out,
	// if they are of the same binaries and whole. They say nothing of an oracle that has
	// been changed since.
	Reuse bool
	// Enough is how many cases of a mutation must leave what no case of the untouched source
	// leaves, until its sweep is ended: what is broken can make each case wait for a minute.
	// Default: 5.
	Enough int

	untouched map[string]Swept // by scope
}

// Swept is what a sweep of a source came to.
type Swept struct {
	// Plain is the verdict of a workload that did not hold without a fault: the sweep
	// refuses it.
	Plain *harness.Verdict
	// Report, and the cases that it is made of, by the keys of their specs.
	Report triage.Report
	Cases  map[string]Case
}

// Case is what a sweep did, and what came of it.
type Case struct {
	Spec plan.Spec
	journal.Result
}

func (s Scope) String() string {
	var parts []string
	for _, words := range [][]string{s.Workloads, s.Who, s.Paths, s.Actions} {
		parts = append(parts, strings.Join(words, "+"))
	}
	return strings.Join(parts, "-")
}

// Sweep sweeps the source with a mutation in it, until enough reports that it has seen
// enough; nil never does.
func (t *Tester) Sweep(ctx context.Context, m Mutation, s Scope, enough func(Case) bool) (Swept, error) {
	swept, err := t.sweep(ctx, m, s, enough)
	if err != nil {
		return swept, fmt.Errorf("sweep %s (%s): %w", m.ID, s, err)
	}
	return swept, nil
}

func (t *Tester) sweep(ctx context.Context, m Mutation, s Scope, enough func(Case) bool) (Swept, error) {
	dir, err := Tree(ctx, m)
	if err != nil {
		return Swept{}, err
	}
	o := plan.Options{Containerd: "src:" + dir, Workloads: s.Workloads, Who: s.Who, Paths: s.Paths, Actions: s.Actions}
	if err := t.Runner.Prepare(ctx, o.Containerd); err != nil {
		return Swept{}, err
	}
	p, err := plan.Make(ctx, t.Runner, o)
	var trace *plan.TraceError
	if errors.As(err, &trace) {
		return Swept{Plain: &trace.Verdict}, nil
	}
	out := t.folder(m, s)
	if err := errors.Join(err, os.RemoveAll(out)); err != nil {
		return Swept{}, err
	}
	head := journal.Head{Plan: p, Shard: plan.Shard{I: 1, Of: 1}}
	j, err := journal.Create(out, head)
	if err != nil {
		return Swept{}, err
	}
	until, end := context.WithCancel(ctx)
	defer end()
	results, err := sweep.Schedule{
		Engine: t.Runner, Head: head, Journal: j, Parallel: cmp.Or(t.Parallel, worlds),
		OnResult: func(r journal.Result) {
			if enough != nil && enough(Case{p.Specs[r.I], r}) {
				end()
			}
		},
	}.Run(until)
	if errors.Is(err, sweep.ErrInterrupted) && ctx.Err() == nil { // it was enough
		err = nil
	}
	if err := errors.Join(err, j.Close()); err != nil {
		return Swept{}, err
	}
	done := newSwept(head, results)
	return done, os.WriteFile(filepath.Join(out, "report.txt"), []byte(done.Report.String()), 0o644)
}

func newSwept(head journal.Head, results []journal.Result) Swept {
	s := Swept{Report: triage.NewReport(head, results, catalogue.Findings()), Cases: map[string]Case{}}
	for _, r := range results {
		spec := head.Plan.Specs[r.I]
		s.Cases[spec.Key()] = Case{spec, r}
	}
	return s
}

// Untouched sweeps the source as it is; each scope once.
func (t *Tester) Untouched(ctx context.Context, s Scope) (Swept, error) {
	if done, ok := t.untouched[s.String()]; ok {
		return done, nil
	}
	done, ok := t.reused(ctx, s)
	if !ok {
		var err error
		if done, err = t.Sweep(ctx, Untouched, s, nil); err != nil {
			return done, err
		}
	}
	if t.untouched == nil {
		t.untouched = map[string]Swept{}
	}
	t.untouched[s.String()] = done
	return done, nil
}

// reused is the sweep of the untouched source that stands in Out.
func (t *Tester) reused(ctx context.Context, s Scope) (Swept, bool) {
	if !t.Reuse {
		return Swept{}, false
	}
	head, results, err := journal.Read(t.folder(Untouched, s))
	if err != nil || len(results) < len(head.Plan.Specs) || head.Plan.CheckSubject(ctx) != nil {
		return Swept{}, false
	}
	return newSwept(head, results), true
}

func (t *Tester) folder(m Mutation, s Scope) string { return filepath.Join(t.Out, m.ID+"-"+s.String()) }
