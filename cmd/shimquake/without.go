package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/matrix"
	"github.com/shimquake/shimquake/sweep/plan"
)

// runWithout runs cases without their faults. The keys of todo are the names of the runs.
// It skips runs that the folder already has, and returns all runs of the folder for the
// report. An interrupt, or a machine that cannot run a case, is no error: the report then
// lacks that run.
func runWithout(ctx context.Context, r *runner.Runner, todo map[string]harness.Case,
	dir string) (map[string]harness.Verdict, error) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(todo)), func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, withoutFile(name)))
		return err == nil
	})
	w := progress.Begin(ctx, "runs without the faults, for the report", len(names), "cases")
	defer w.End()
	for _, name := range names {
		if ctx.Err() != nil {
			break
		}
		w.SetStep(name)
		v := r.Run(ctx, report.WithoutFault(todo[name]))
		if ctx.Err() != nil || v.UnableHere() {
			_ = os.RemoveAll(v.Evidence) // The run shows nothing.
			break
		}
		if err := errors.Join(report.KeepWithout(dir, withoutFile(name), v), os.RemoveAll(v.Evidence)); err != nil {
			return nil, err
		}
		w.Step("")
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

// violatedCells returns the violated cases of a matrix, by the names of their runs
// without the fault.
func violatedCells(t matrix.Table) map[string]harness.Case {
	todo := map[string]harness.Case{}
	for _, b := range t.Bugs {
		for _, release := range t.Releases {
			cell := t.Cells[matrix.Key{Bug: b.ID, Release: release}]
			if c, ok := caseOfCell(b, cell); ok && (cell.Seen == matrix.Shown || cell.Seen == matrix.Other) {
				todo[report.WithoutName(c)] = c
			}
		}
	}
	return todo
}
