package quote

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Error returns the text of an error. The line ends of the message itself stay. Each path
// that the error wraps, and each of the words (for example of a command line), is part of
// one line, whatever it contains.
func Error(err error, words ...string) string {
	foreign := append(paths(err), words...)
	// A word may contain another word.
	slices.SortFunc(foreign, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	text := err.Error()
	for _, f := range foreign {
		if line := Line(f); f != "" && line != f {
			text = strings.ReplaceAll(text, f, line)
		}
	}
	return text
}

// paths returns the paths in an error and in all errors that it wraps.
func paths(err error) (found []string) {
	switch e := err.(type) { //nolint:errorlint // each error of the tree is visited
	case *fs.PathError:
		found = append(found, e.Path)
	case *os.LinkError:
		found = append(found, e.Old, e.New)
	case *exec.Error:
		found = append(found, e.Name)
	}
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			found = append(found, paths(err)...)
		}
	default:
		if err := errors.Unwrap(err); err != nil {
			found = append(found, paths(err)...)
		}
	}
	return found
}
