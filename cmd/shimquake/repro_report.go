package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/catalogue/rejudge"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/repro"
	"github.com/shimquake/shimquake/sweep/engine"
)

// reproReport collects the runs of bugs and keeps their histories.
type reproReport struct {
	dir  string
	file *harness.Histories

	cases []harness.Verdict // without their histories
	parts []harness.Part
	err   error
}

// newReproReport begins a report in a folder, and removes the runs of an earlier report
// there.
func newReproReport(dir string) (*reproReport, error) {
	name := filepath.Join(dir, harness.HistoriesFile)
	err := os.MkdirAll(dir, 0o755)
	if rerr := os.Remove(name); err == nil && !errors.Is(rerr, os.ErrNotExist) {
		err = rerr
	}
	if err != nil {
		return nil, fmt.Errorf("repro: %w", err)
	}
	r := &reproReport{dir: dir}
	r.file, err = harness.OpenHistories(name)
	return r, err
}

// keep keeps the history of a run.
func (r *reproReport) keep(v harness.Verdict) {
	p, err := r.file.Keep(v)
	v.History = nil
	r.cases, r.parts, r.err = append(r.cases, v), append(r.parts, p), errors.Join(r.err, err)
}

// write writes the report for a result.
func (r *reproReport) write(ctx context.Context, e *engine.Engine, word string, a repro.Answer) error {
	if err := errors.Join(r.err, r.file.Close()); err != nil {
		return err
	}
	todo := map[string]harness.Case{}
	for _, v := range r.cases {
		if v.Outcome == harness.Violated {
			todo[report.WithoutName(v.Case)] = v.Case
		}
	}
	without, err := runWithout(ctx, e, todo, r.dir)
	if err != nil {
		return err
	}
	d := report.Data{Title: "Repro of " + filepath.Base(word), Command: typedCommand(), Made: time.Now(),
		Without: without, Answers: a.Parts()}
	cases, err := r.read()
	if err != nil {
		return err
	}
	d.Cases, d.Clusters = report.All(tellReleases(cases)), reproClusters(a, cases)
	return writeReport(ctx, r.dir, d, len(cases))
}

// read returns the runs as cases of a report.
func (r *reproReport) read() ([]report.Case, error) {
	f, err := foreign.Open(r.file.Name(), harness.MaxHistories)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	cases := make([]report.Case, len(r.cases))
	for i, v := range r.cases {
		if r.parts[i].Len > 0 {
			k, err := harness.Unpack(f, r.file.Name(), r.parts[i])
			if err != nil {
				return nil, err
			}
			v = rejudge.Kept(k)
		}
		cases[i] = caseOf(i+1, v)
		cases[i].Without = report.WithoutName(v.Case)
	}
	return cases, nil
}

// reproClusters returns a cluster for each reproduced bug, and one for the case that a
// search has found.
func reproClusters(a repro.Answer, cases []report.Case) (all []report.Cluster) {
	if a.Search != nil && a.Search.Found != nil {
		found := a.Search.Found
		c := report.Cluster{ID: "found", State: report.New, Title: "The search has found a case with the same leak",
			Says: []string{found.Spec.String()}}
		if found.Shown != nil {
			c.Replay = "shimquake run --containerd " + a.Release + " " + found.Shown.File
		}
		all = append(all, c)
	}
	for i, t := range a.Trials {
		b, err := catalogue.FindBug(t.Bug)
		if !t.Reproduced() || err != nil {
			continue
		}
		c := report.Cluster{ID: t.Bug, State: report.Known, Title: b.Title, Says: []string{t.String()},
			Replay: "shimquake run --containerd " + t.Release + " " + t.Case}
		for _, k := range cases {
			if v := k.Verdict; v.Name == t.Case && v.Outcome == harness.Violated && v.Case.Containerd == t.Release {
				c.Cases = append(c.Cases, k.ID)
			}
		}
		if i == a.Best { // the best bug comes first
			all = append([]report.Cluster{c}, all...)
		} else {
			all = append(all, c)
		}
	}
	return all
}
