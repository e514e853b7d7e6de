package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/progress"
	"github.com/shimquake/shimquake/report"
	"github.com/shimquake/shimquake/repro/signature"
	"github.com/shimquake/shimquake/sweep/engine"
	"github.com/shimquake/shimquake/sweep/matrix"
)

// maxSignatures is the limit of a file of signatures in bytes. The catalogue's file has
// 120 KB.
const maxSignatures = 16 << 20

// record writes a signature into f.signatures for each cell that has shown its bug. The
// file's other signatures stay. It keeps its runs without the fault for the report.
func (f *matrixFlags) record(ctx context.Context, t matrix.Table, e *engine.Engine) error {
	var all []catalogue.Signature
	text, err := foreign.ReadFile(f.signatures, maxSignatures)
	if err == nil {
		all, err = catalogue.ReadSignatures(bytes.NewReader(text))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", f.signatures, err)
	}
	cells, cases := cellsSeen(t, matrix.Shown)
	w := progress.Begin(ctx, "runs without the faults, for the signatures", len(cells), "cases")
	defer w.End()
	names := slices.Sorted(maps.Keys(cells))
	err = engine.Each(ctx, e, slices.Values(names), func(t *engine.Task, name string) ([]catalogue.Signature, error) {
		v, err := t.Run(report.WithoutFault(cases[name]))
		if err != nil {
			return nil, err
		}
		without, err := signature.LogsIn(v.Evidence)
		if err = errors.Join(err, report.KeepWithout(f.out, withoutFile(name), v)); err != nil {
			return nil, fmt.Errorf("%s without its fault on %s: %w", cases[name].Name, v.Version, err)
		}
		var of []catalogue.Signature
		for _, cell := range cells[name] {
			shown, err := signature.LogsIn(cell.Evidence)
			if err != nil {
				return nil, err
			}
			of = append(of, catalogue.Signature{Bug: cell.Bug, Release: cell.Release, Keys: signature.Of(shown, without)})
		}
		return of, nil
	}, func(_ *engine.Task, of []catalogue.Signature) error {
		all = append(all, of...)
		w.Step("")
		return nil
	})
	if err != nil {
		return err
	}
	var written bytes.Buffer
	if err := catalogue.WriteSignatures(&written, all); err != nil {
		return err
	}
	return foreign.WriteFile(f.signatures, written.Bytes(), 0o644)
}

// cellsSeen returns the cells with one of some results, and a case of these cells, both
// by the name of the run without the fault.
func cellsSeen(t matrix.Table, seen ...matrix.Seen) (map[string][]matrix.Cell, map[string]harness.Case) {
	cells, cases := map[string][]matrix.Cell{}, map[string]harness.Case{}
	for _, b := range t.Bugs {
		for _, release := range t.Releases {
			cell := t.Cells[matrix.Key{Bug: b.ID, Release: release}]
			i := slices.IndexFunc(b.Cases, func(c harness.Case) bool { return c.Name == cell.Case })
			if i < 0 || !slices.Contains(seen, cell.Seen) {
				continue
			}
			c := b.Cases[i]
			c.Containerd = release
			name := report.WithoutName(c)
			cells[name], cases[name] = append(cells[name], cell), c
		}
	}
	return cells, cases
}
