package statement

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"golang.org/x/mod/semver"
)

// written has the statements of the tested releases (fixtures/containerd.Releases). `make
// docs` writes it, so reading a report needs no source of a release.
//
//go:embed statements.json.gz
var written []byte

// Known returns the statements of the tested releases. Callers share the result and must
// not change it.
var Known = sync.OnceValue(func() []Statement {
	all, err := Read(bytes.NewReader(written))
	if err != nil {
		panic(err) // it is part of the program
	}
	return all
})

// KnownTable returns the table of the statements of Known.
var KnownTable = sync.OnceValue(func() *Table { return NewTable(Known()) })

// Merge returns the statements of several releases, each once.
func Merge(releases ...[]Statement) (all []Statement) {
	for _, s := range slices.SortedStableFunc(slices.Values(slices.Concat(releases...)), compare) {
		if last := len(all) - 1; last >= 0 && compare(all[last], s) == 0 {
			s.Releases = slices.Concat(all[last].Releases, s.Releases)
			all = all[:last]
		}
		slices.SortFunc(s.Releases, semver.Compare)
		s.Releases = slices.Compact(s.Releases)
		all = append(all, s)
	}
	return all
}

// Write writes statements as compressed JSON.
func Write(w io.Writer, all []Statement) error {
	zipped := gzip.NewWriter(w)
	return errors.Join(json.NewEncoder(zipped).Encode(all), zipped.Close())
}

// Read reads the format of Write.
func Read(r io.Reader) (all []Statement, err error) {
	plain, err := gzip.NewReader(r)
	if err == nil {
		err = json.NewDecoder(plain).Decode(&all)
	}
	if err != nil {
		return nil, fmt.Errorf("read the statements of releases: %w", err)
	}
	return all, nil
}
