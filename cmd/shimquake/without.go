package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// errUnable ends the runs without the faults on a machine that cannot run one of them.
var errUnable = errors.New("this machine cannot run the case")

// runWithout runs cases without their faults. The keys of todo are the names of the runs.
// It skips runs that the folder already has, and returns all runs of the folder for the
// report. An interrupt, or a machine that cannot run a case, is no error: the report then
// lacks that run.
func runWithout(ctx context.Context, e *engine.Engine, todo map[string]harness.Case,
	dir string) (map[string]harness.Verdict, error) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(todo)), func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, withoutFile(name)))
		return err == nil
	})
	w := progress.Begin(ctx, "runs without the faults, for the report", len(names), "cases")
	defer w.End()
	err := engine.Each(ctx, e, slices.Values(names), func(t *engine.Task, name string) (string, error) {
		v, err := t.Run(report.WithoutFault(todo[name]))
		if err == nil && v.UnableHere() {
			err = errUnable
		}
		if err == nil {
			err = report.KeepWithout(dir, withoutFile(name), v)
		}
		return name, err
	}, func(_ *engine.Task, name string) error {
		w.Step(name)
		return nil
	})
	if err != nil && !errors.Is(err, engine.ErrInterrupted) && !errors.Is(err, errUnable) {
		return nil, err
	}
	return report.SweptWithout(dir)
}

// withoutFile returns the path of a run without a fault below the folder of a sweep or a
// matrix.
func withoutFile(name string) string { return filepath.Join(report.WithoutDir, name+".json") }

// violatedWorkloads returns a violated case for each workload that has one.
func violatedWorkloads(p plan.Plan, results []journal.Result) (map[string]harness.Case, error) {
	todo := map[string]harness.Case{}
	for _, res := range results {
		s := p.Specs[res.I]
		if _, has := todo[s.Workload]; has || res.Outcome != harness.Violated {
			continue
		}
		c, err := s.Case(p.Containerd)
		if err != nil {
			return nil, err
		}
		todo[s.Workload] = c
	}
	return todo, nil
}
