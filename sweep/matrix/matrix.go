package matrix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/sweep"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// ErrInterrupted reports that the run was ended before all cells had run.
var ErrInterrupted = errors.New("interrupted")

// Matrix describes a run.
type Matrix struct {
	Bugs     []catalogue.Bug
	Releases []string
	// Of are the releases of a bug, by its id, if they differ from bug to bug. Default:
	// Releases.
	Of     map[string][]string
	Engine plan.Engine
	// Dir has the journal. A killed run continues with it.
	Dir string
	// Parallel is how many cases work concurrently. Slots assigns processors to them.
	Parallel int
	Slots    sweep.Slots
	// Runs is the number of runs of each cell; 0: as many as its odds need.
	Runs int
	// Histories, if any, keeps the histories of the runs, for a report.
	Histories *harness.Histories
	// OnCell is called for each cell, first for the cells of an earlier run. It may be
	// nil.
	OnCell func(Cell)
}

// Cells returns the number of cells: only bugs with a case have some.
func (m Matrix) Cells() int { return len(m.works()) }

func (m Matrix) works() (all []work) {
	for _, release := range m.Releases { // in the page cache, the release's binaries stay
		for _, b := range m.Bugs {
			if len(b.Cases) > 0 && (m.Of == nil || slices.Contains(m.Of[b.ID], release)) {
				all = append(all, work{bug: b, release: release})
			}
		}
	}
	return all
}

// Run runs the cells that the journal in Dir lacks. Kept counts the others. It returns
// ErrInterrupted when the context ends; the journal has the finished cells.
func (m Matrix) Run(ctx context.Context) (t Table, err error) {
	j, done, end, err := open(m.Dir)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	if m.Histories != nil {
		if err := m.Histories.Cut(end); err != nil {
			return t, err
		}
	}
	build, err := journal.BuildID()
	if err != nil {
		return t, err
	}
	t = Table{Releases: m.Releases, Bugs: m.Bugs, Of: m.Of, Cells: map[Key]Cell{}, Build: build}
	var mu sync.Mutex
	g, running := errgroup.WithContext(ctx)
	g.SetLimit(m.Slots.Worlds(m.Parallel))
	var left []work
	for _, w := range m.works() {
		if c, ok := done[Key{w.bug.ID, w.release}]; ok && c.Digest == w.digest() {
			c.Expect = Expect(w.bug, w.release)
			t.Cells[Key{w.bug.ID, w.release}] = c
			t.Kept++
			if m.OnCell != nil {
				m.OnCell(c)
			}
			continue
		}
		left = append(left, w)
	}
	reported, differ := progress.Begin(ctx, "matrix", len(left), "cells"), 0
	defer reported.End()
	for _, w := range left {
		g.Go(func() error {
			c, err := m.cell(running, w)
			if err != nil {
				return err // the first error: it has ended the other cells
			}
			c.Build = build
			mu.Lock()
			defer mu.Unlock()
			t.Cells[Key{w.bug.ID, w.release}] = c
			if m.OnCell != nil {
				m.OnCell(c)
			}
			if c.Differs() {
				differ++
			}
			reported.Step(fmt.Sprintf("%d differ from the catalogue", differ))
			return j.add(c)
		})
	}
	return t, g.Wait()
}

// cell runs one cell with the first of the bug's cases that has a point on the release.
func (m Matrix) cell(ctx context.Context, w work) (c Cell, err error) {
	for _, w.c = range w.bug.Cases {
		w.c.Containerd = w.release
		if c, err = m.try(ctx, w, c); err != nil || c.Seen != NoPoint {
			break
		}
	}
	return c, err
}

// try runs one case as often as needed. Runs and histories of earlier cases belong to the
// cell, too.
func (m Matrix) try(ctx context.Context, w work, before Cell) (Cell, error) {
	c := Cell{Bug: w.bug.ID, Case: w.c.Name, Release: w.release, Expect: Expect(w.bug, w.release), Digest: w.digest(),
		Took: before.Took, Histories: before.Histories}
	want := m.Runs
	if want == 0 {
		want = w.runs()
	}
	for !c.done(want) {
		if ctx.Err() != nil {
			return c, ErrInterrupted
		}
		v := m.Slots.Run(ctx, m.Engine, w.c)
		if ctx.Err() != nil {
			return c, ErrInterrupted // its world was removed during the run
		}
		s, why := w.judge(v)
		c.add(s, why, v)
		if m.Histories != nil {
			part, err := m.Histories.Keep(v)
			if err != nil {
				return c, err
			}
			c.Histories = append(c.Histories, part)
		}
	}
	return c, nil
}

// String returns the cell for a person.
func (c Cell) String() string {
	return fmt.Sprintf("%s on %s: expected %s", c.Bug, c.Release, c.word())
}
