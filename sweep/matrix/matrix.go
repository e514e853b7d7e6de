package matrix

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/journal"
)

// Matrix describes a run of a matrix: bugs on releases.
type Matrix struct {
	Bugs     []catalogue.Bug
	Releases []string
	// Of has the releases for each bug, by the bug's id, if they differ from bug to bug.
	// Default: Releases.
	Of     map[string][]string
	Engine *engine.Engine
	// Dir is the folder of the journal, with which a killed run continues.
	Dir string
	// Runs is the number of runs of each cell. With 0, it depends on how often the bug
	// shows.
	Runs int
	// Histories, if not nil, stores the histories of the runs for a report.
	Histories *harness.Histories
	// OnCell, if not nil, is called for each cell, first for the cells of an earlier run.
	OnCell func(Cell)
}

// Cells returns the number of cells. A bug without a case has no cells.
func (m Matrix) Cells() int { return len(m.works()) }

func (m Matrix) works() (all []work) {
	for _, release := range m.Releases { // keeps a release's binaries in the page cache
		for _, b := range m.Bugs {
			if len(b.Cases) > 0 && (m.Of == nil || slices.Contains(m.Of[b.ID], release)) {
				all = append(all, work{bug: b, release: release})
			}
		}
	}
	return all
}

// Run runs the cells that the journal in Dir lacks. Kept counts the others. If the
// context ends, Run returns [engine.ErrInterrupted], and the journal has the finished
// cells.
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
	return t, engine.Each(ctx, m.Engine, slices.Values(left), m.cell, func(_ *engine.Task, c Cell) error {
		c.Build = build
		t.Cells[c.Key()] = c
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

// cell runs one cell with the first case of the bug whose point the release has.
func (m Matrix) cell(t *engine.Task, w work) (c Cell, err error) {
	for _, w.c = range w.bug.Cases {
		w.c.Containerd = w.release
		if c, err = m.try(t, w, c); err != nil || c.Seen != NoPoint {
			break
		}
	}
	t.Keep(c.Evidence)
	return c, err
}

// try runs one case as often as needed. The cell before has the runs and histories of the
// bug's earlier cases, and try keeps them.
func (m Matrix) try(t *engine.Task, w work, before Cell) (Cell, error) {
	c := Cell{Bug: w.bug.ID, Case: w.c.Name, Release: w.release, Expect: Expect(w.bug, w.release), Digest: w.digest(),
		Took: before.Took, Histories: before.Histories}
	want := m.Runs
	if want == 0 {
		want = w.runs()
	}
	for !c.done(want) {
		v, err := t.Run(w.c)
		if err != nil {
			return c, err
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

// String returns the cell as a line for people.
func (c Cell) String() string {
	return fmt.Sprintf("%s on %s: expected %s", c.Bug, c.Release, c.word())
}
