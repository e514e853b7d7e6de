package statement

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/semver"
)

// written has the statements of the tested releases (fixtures/containerd.Releases). `make
// docs` writes it, so reading a report needs no source of a release.
//
//go:embed statements.jsonl.gz
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
func Merge(releases ...[]Statement) []Statement {
	type key struct{ format, of, level, code, fields, pkg string }
	merged := map[key]*Statement{}
	for _, s := range slices.Concat(releases...) {
		k := key{string(s.Kind) + s.Format, s.Func, s.Level, s.Code, strings.Join(s.Fields, ","), packageOf(s.File)}
		old := merged[k]
		if old == nil {
			merged[k] = &s
			continue
		}
		if semver.Compare(newest(s), newest(*old)) > 0 {
			old.File = s.File
		}
		old.Releases = append(slices.Clone(old.Releases), s.Releases...)
		slices.SortFunc(old.Releases, semver.Compare)
		old.Releases = slices.Compact(old.Releases)
	}
	all := make([]Statement, 0, len(merged))
	for _, s := range merged {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Statement) int {
		return cmp.Or(compare(a, b), slices.Compare(a.Releases, b.Releases))
	})
	return all
}

// packageOf returns the last folder of a file's path. A package keeps that name if it
// moves.
func packageOf(file string) string {
	dirs := strings.Split(file, "/")
	return dirs[max(len(dirs)-2, 0)]
}

func newest(s Statement) string { return s.Releases[len(s.Releases)-1] }

// Write writes statements as compressed lines of JSON.
func Write(w io.Writer, all []Statement) error {
	zipped := gzip.NewWriter(w)
	lines := json.NewEncoder(zipped)
	lines.SetEscapeHTML(false)
	for _, s := range all {
		if err := lines.Encode(s); err != nil {
			return err
		}
	}
	return zipped.Close()
}

// Read reads the format of Write.
func Read(r io.Reader) (all []Statement, err error) {
	plain, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("read the statements of releases: %w", err)
	}
	for lines := json.NewDecoder(plain); lines.More(); {
		var s Statement
		if err := lines.Decode(&s); err != nil {
			return nil, fmt.Errorf("read the statements of releases: %w", err)
		}
		all = append(all, s)
	}
	return all, nil
}
