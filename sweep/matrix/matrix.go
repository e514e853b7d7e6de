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
	"github.com/shimquake/shimquake/sweep/plan"
)

// Matrix describes a run of a matrix: bugs on releases.
type Matrix struct {
	Bugs     []catalogue.Bug
	Releases []string
	// Of has the releases for each bug, by the bug's id, if they differ from bug to bug.
	// Default: Releases.
	Of     map[string][]string
	Engine *engine.Engine
	// Dir is the folder of the journal, with which a killed run continues. The journal's
	// plan has the cases of bugs, and each of its results is on a release.
	Dir string
	// Runs is the number of runs of each cell. With 0, it depends on how often the bug
	// shows.
	Runs int
	// OnCell, if not nil, is called for each cell, first for the cells of an earlier run.
	OnCell func(Cell)
}

// Cells returns the number of cells. A bug without a case has no cells.
func (m Matrix) Cells() int { return len(m.works(runs{})) }

func (m Matrix) works(of runs) (all []work) {
	for _, release := range m.Releases { // keeps a release's binaries in the page cache
		for _, b := range m.Bugs {
			if len(b.Cases) > 0 && (m.Of == nil || slices.Contains(m.Of[b.ID], release)) {
				all = append(all, of.work(b, release))
			}
		}
	}
	return all
}

// open opens or creates the journal, and adds the missing cases to its plan. It also
// returns the index of each case in the plan, by the case's name.
func (m Matrix) open() (j *journal.Journal, of runs, index map[string]int, err error) {
	var h journal.Head
	var all []journal.Result
	if journal.Has(m.Dir) {
		j, h, all, err = journal.Resume(m.Dir)
	} else {
		h = journal.Head{Plan: plan.Plan{}.WithDigest(), Matrix: true}
		j, err = journal.Create(m.Dir, h)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if !h.Matrix {
		err = fmt.Errorf("%s has a sweep: choose another folder (--out)", m.Dir)
	}
	index = map[string]int{}
	for i, s := range h.Plan.Specs {
		index[s.CaseName()] = i
	}
	for _, b := range m.Bugs {
		for _, c := range b.Cases {
			if _, has := index[c.Name]; !has && err == nil {
				index[c.Name] = len(index)
				err = j.AddCase(plan.Catalogued(c))
			}
		}
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, j.Close())
	}
	return j, runsOf(h, all), index, nil
}

// Run runs the cells that lack runs in the journal in Dir. Kept counts the others. If the
// context ends, Run returns [engine.ErrInterrupted], and the journal has the finished
// cells.
func (m Matrix) Run(ctx context.Context) (t Table, err error) {
	j, of, index, err := m.open()
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	t = Table{Releases: m.Releases, Bugs: m.Bugs, Of: m.Of, Cells: map[Key]Cell{}}
	add := func(c Cell) {
		t.Cells[c.Key()] = c
		if m.OnCell != nil {
			m.OnCell(c)
		}
	}
	var left []work
	for _, w := range m.works(of) {
		if c := w.cell(); c.Seen != Invalid && c.done(m.want(w)) {
			add(c)
			t.Kept++
			continue
		}
		left = append(left, w)
	}
	reported, differ := progress.Begin(ctx, "matrix", len(left), "cells"), 0
	defer reported.End()
	type ran struct {
		work
		fresh []*journal.Result
	}
	return t, engine.Each(ctx, m.Engine, slices.Values(left), func(t *engine.Task, w work) (ran, error) {
		fresh, err := m.cell(t, w, index)
		return ran{w, fresh}, err
	}, func(_ *engine.Task, r ran) error {
		for _, result := range r.fresh {
			if err := j.Add(result); err != nil {
				return err
			}
		}
		c := r.cell()
		add(c)
		if c.Differs() {
			differ++
		}
		reported.Step(fmt.Sprintf("%d differ from the catalogue", differ))
		return nil
	})
}

// want returns the number of runs of a cell.
func (m Matrix) want(w work) int {
	if m.Runs > 0 {
		return m.Runs
	}
	return w.wanted()
}

// cell adds runs to a cell until its result is known, and returns them. It keeps the
// evidence of the cell only.
func (m Matrix) cell(t *engine.Task, w work, index map[string]int) (fresh []*journal.Result, err error) {
	c := w.cell()
	for again := c.Seen == Invalid; again || !c.done(m.want(w)); again = false {
		i := slices.IndexFunc(w.bug.Cases, func(of harness.Case) bool { return of.Name == c.Case })
		of := w.bug.Cases[i]
		of.Containerd = w.release
		v, err := t.Run(of)
		if err != nil {
			return nil, err
		}
		r := journal.NewResult(index[of.Name], v)
		r.On = w.release
		if err := r.Keep(v); err != nil {
			return nil, err
		}
		fresh, w.runs[i] = append(fresh, &r), append(w.runs[i], &r)
		c = w.cell()
	}
	for _, r := range fresh {
		if r.Evidence != c.Evidence {
			r.Evidence = ""
		}
	}
	t.Keep(c.Evidence)
	return fresh, nil
}

// String returns the cell as a line for people.
func (c Cell) String() string {
	return fmt.Sprintf("%s on %s: expected %s", c.Bug, c.Release, c.word())
}
