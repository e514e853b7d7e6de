package judge

import (
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
)

// Judge sweeps mutated sources.
type Judge struct {
	Runner *runner.Runner
	// Out is the folder for the journals, one folder a sweep. What an earlier judge left there is removed.
	Out string
	// Parallel is how many worlds run at once. Default: 6.
	Parallel int
	// Reuse takes the sweeps of the untouched source that an earlier judge has left in Out, if they are of the same binaries and whole. They say nothing
	// of an oracle that has been changed since.
	Reuse bool
	// Enough is after how many cases of a mutation that leave what no case of the untouched source leaves its sweep is ended: what is broken can
	// make each case wait for a minute. Default: 5.
	Enough int

	untouched map[string]Swept // by scope
}

// Swept is what a sweep of a source came to.
type Swept struct {
	// Plain is the verdict of a workload that did not hold without a fault: the sweep refuses it.
	Plain *harness.Verdict
	// Report, and the cases that it is made of, by what they do.
	Report sweep.Report
	Cases  map[sweep.Spec]sweep.Result
}

func (s Scope) String() string {
	return strings.Join([]string{strings.Join(s.Workloads, "+"), strings.Join(s.Who, "+"), strings.Join(s.Paths, "+"), strings.Join(s.Actions, "+")}, "-")
}

// Sweep sweeps the source with a mutation in it, until enough says that it has seen enough; nil never does.
func (j *Judge) Sweep(ctx context.Context, m Mutation, s Scope, enough func(sweep.Spec, sweep.Result) bool) (Swept, error) {
	swept, err := j.sweep(ctx, m, s, enough)
	if err != nil {
		return swept, fmt.Errorf("sweep %s (%s): %w", m.ID, s, err)
	}
	return swept, nil
}

func (j *Judge) sweep(ctx context.Context, m Mutation, s Scope, enough func(sweep.Spec, sweep.Result) bool) (Swept, error) {
	dir, err := Tree(ctx, m)
	if err != nil {
		return Swept{}, err
	}
	subject := "src:" + dir
	if err := j.Runner.Prepare(ctx, subject); err != nil {
		return Swept{}, err
	}
	plan, err := sweep.Make(ctx, j.Runner, sweep.Options{Containerd: subject, Workloads: s.Workloads, Who: s.Who, Paths: s.Paths, Actions: s.Actions})
	var trace *sweep.TraceError
	if errors.As(err, &trace) {
		return Swept{Plain: &trace.Verdict}, nil
	}
	if err != nil {
		return Swept{}, err
	}
	out := j.folder(m, s)
	if err := os.RemoveAll(out); err != nil {
		return Swept{}, err
	}
	head := sweep.Head{Plan: plan, Shard: sweep.Shard{I: 1, Of: 1}}
	journal, err := sweep.CreateJournal(out, head)
	if err != nil {
		return Swept{}, err
	}
	run := sweep.Schedule{Engine: j.Runner, Head: head, Journal: journal, Parallel: j.Parallel}
	if run.Parallel == 0 {
		run.Parallel = worlds
	}
	until, end := context.WithCancel(ctx)
	defer end()
	run.OnResult = func(r sweep.Result) {
		if enough != nil && enough(key(plan.Specs[r.I]), r) {
			end()
		}
	}
	results, err := run.Run(until)
	if errors.Is(err, sweep.ErrInterrupted) && ctx.Err() == nil { // it was enough
		err = nil
	}
	if err := errors.Join(err, journal.Close()); err != nil {
		return Swept{}, err
	}
	done := newSwept(head, results)
	return done, os.WriteFile(filepath.Join(out, "report.txt"), []byte(done.Report.String()), 0o644)
}

func newSwept(head sweep.Head, results []sweep.Result) Swept {
	s := Swept{Report: sweep.NewReport(head, results, catalogue.Findings()), Cases: map[sweep.Spec]sweep.Result{}}
	for _, r := range results {
		s.Cases[key(head.Plan.Specs[r.I])] = r
	}
	return s
}

// key is what a case does. Which traces had it is of one plan only.
func key(s sweep.Spec) sweep.Spec {
	s.Unsteady = false
	return s
}

// Untouched sweeps the source as it is; each scope once.
func (j *Judge) Untouched(ctx context.Context, s Scope) (Swept, error) {
	if done, ok := j.untouched[s.String()]; ok {
		return done, nil
	}
	done, ok := j.reused(ctx, s)
	if !ok {
		var err error
		if done, err = j.Sweep(ctx, Untouched, s, nil); err != nil {
			return done, err
		}
	}
	if j.untouched == nil {
		j.untouched = map[string]Swept{}
	}
	j.untouched[s.String()] = done
	return done, nil
}

// reused is the sweep of the untouched source that stands in Out.
func (j *Judge) reused(ctx context.Context, s Scope) (Swept, bool) {
	if !j.Reuse {
		return Swept{}, false
	}
	head, results, err := sweep.ReadJournal(j.folder(Untouched, s))
	if err != nil || len(results) < len(head.Plan.Specs) || head.Plan.CheckSubject(ctx) != nil {
		return Swept{}, false
	}
	return newSwept(head, results), true
}

func (j *Judge) folder(m Mutation, s Scope) string { return filepath.Join(j.Out, m.ID+"-"+s.String()) }
