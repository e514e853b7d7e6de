package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/journal"
)

// eachKept visits the histories of an argument: a file, a folder, a sweep, or - for
// stdin. from is the file of a history if that is in a folder of evidence, or "". It ends
// when the context ends.
func eachKept(ctx context.Context, word string, stdin io.Reader, do func(from string, k harness.Kept) error) error {
	visit := func(from string, k harness.Kept) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return do(from, k)
	}
	if word == "-" {
		return harness.EachKept("stdin", stdin, func(k harness.Kept) error { return visit("", k) })
	}
	info, err := os.Stat(word)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("no such file: name a history, a folder of evidence (out/evidence) or of a sweep, or -")
	}
	if err != nil {
		return &harness.InputError{File: word, Err: err}
	}
	if !info.IsDir() {
		return keptFile(word, visit)
	}
	if journal.Has(word) {
		return journal.EachHistory(word, func(_ journal.Result, k harness.Kept) error { return visit("", k) })
	}
	all := filepath.Join(word, harness.HistoriesFile)
	if _, err := os.Lstat(all); err == nil {
		return zippedFile(all, visit)
	}
	return keptFolder(ctx, word, visit)
}

// maxEntries is the limit of entries in a folder of evidence, with the folders in it.
const maxEntries = 1 << 20

// keptFolder visits the histories of a folder, and of the folders in it.
func keptFolder(ctx context.Context, word string, visit func(from string, k harness.Kept) error) error {
	dir, err := foreign.OpenDir(word)
	if err != nil {
		return &harness.InputError{File: word, Err: err}
	}
	found := 0
	err = dir.Walk(ctx, maxEntries, func(name string, e fs.DirEntry) error {
		if e.Name() != harness.HistoryFile {
			return nil
		}
		found++
		f, err := dir.Open(name, harness.MaxHistory)
		if err != nil {
			return &harness.InputError{File: dir.Path(name), Err: err}
		}
		return keptIn(f, dir.Path(name), visit)
	})
	if err == nil && found == 0 {
		err = &harness.InputError{
			File: word,
			Err: fmt.Errorf(
				"there is no %s in this folder: run with --keep to keep the histories of cases that held",
				harness.HistoryFile,
			),
		}
	}
	return errors.Join(err, dir.Close())
}

// zippedFile visits the histories of a matrix or a repro.
func zippedFile(name string, visit func(from string, k harness.Kept) error) error {
	f, err := foreign.Open(name, harness.MaxHistories)
	if err != nil {
		return &harness.InputError{File: name, Err: err}
	}
	z, err := gzip.NewReader(f)
	if err == nil {
		err = harness.EachKept(name, z, func(k harness.Kept) error { return visit("", k) })
	}
	return errors.Join(err, f.Close())
}

// keptFile visits all histories of a file that the operator named.
func keptFile(name string, visit func(from string, k harness.Kept) error) error {
	f, err := foreign.OpenTyped(name, harness.MaxHistories)
	if err != nil {
		return &harness.InputError{File: name, Err: err}
	}
	return keptIn(f, name, visit)
}

// keptIn visits all histories of an open file, and closes it.
func keptIn(f io.ReadCloser, name string, visit func(from string, k harness.Kept) error) error {
	return errors.Join(harness.EachKept(name, f, func(k harness.Kept) error { return visit(name, k) }), f.Close())
}
