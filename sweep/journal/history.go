package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/shimquake/shimquake/catalogue/rejudge"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
)

// errNoHistories is the error for cases that cannot be judged again.
var errNoHistories = errors.New("its cases cannot be judged again, because the histories are missing")

// openHistories opens the file of histories, to append after the histories of these
// results.
func (j *Journal) openHistories(dir string, all []Result) (err error) {
	if j.histories, err = harness.OpenHistories(filepath.Join(dir, harness.HistoriesFile)); err != nil {
		return err
	}
	end := int64(0)
	for _, r := range all {
		end = max(end, r.History.End())
	}
	return j.histories.Cut(end)
}

// keep writes the history of a result. It is called before the journal gets the result,
// which names the history's place.
func (j *Journal) keep(r *Result) error {
	if r.packed == nil {
		return nil
	}
	part, err := j.histories.Add(r.packed)
	if err != nil {
		return err
	}
	r.History, r.packed = part, nil
	return nil
}

// Copy adds the results of another journal that want chooses, with their histories and
// without their evidence, and returns them.
func (j *Journal) Copy(dir string, want func(Result) bool) (all []Result, err error) {
	err = EachHistory(dir, func(r Result, k harness.Kept) error {
		if !want(r) {
			return nil
		}
		if r.packed, err = k.Pack(); err != nil {
			return err
		}
		r.Evidence = ""
		err := j.Add(&r)
		all = append(all, r)
		return err
	})
	return all, err
}

// EachHistory calls visit with the history of each result of a sweep in dir, in the order
// of the journal.
func EachHistory(dir string, visit func(Result, harness.Kept) error) error {
	_, all, err := readFile(dir)
	if err != nil {
		return err
	}
	return eachHistory(dir, all, visit)
}

func eachHistory(dir string, all []Result, visit func(Result, harness.Kept) error) error {
	name := filepath.Join(dir, harness.HistoriesFile)
	f, err := foreign.Open(name, harness.MaxHistories)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: %w (%w)", dir, errNoHistories, err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // ignored: the file was only read
	for _, r := range all {
		k, err := harness.Unpack(f, fmt.Sprintf("%s, case %d", name, r.I), r.History)
		if errors.Is(err, harness.ErrNoHistory) {
			err = fmt.Errorf("%w (%w)", errNoHistories, err)
		}
		if err == nil {
			err = visit(r, k)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// judgedHere returns the results by the rules of this build. It judges the results of
// another build again. It leaves out results of cases that changed in the catalogue.
func judgedHere(dir string, h Head, all []Result) ([]Result, error) {
	self, err := BuildID()
	if err != nil || h.Build == self || len(all) == 0 {
		return all, err
	}
	again := make([]Result, 0, len(all))
	err = eachHistory(dir, all, func(was Result, k harness.Kept) error {
		if !h.Plan.Specs[was.I].Is(k.History.Case) {
			return nil
		}
		r := NewResult(was.I, rejudge.Kept(k))
		r.On, r.Tries, r.Met, r.Evidence, r.History = was.On, was.Tries, was.Met, was.Evidence, was.History
		again = append(again, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s was run by %s: %w; make the report with that build, "+
			"or sweep again in another folder (--out)", dir, h.Build, err)
	}
	return again, nil
}
