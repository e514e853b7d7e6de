// Package catalogue keeps named Cases as data: a file each.
package catalogue

import (
	"embed"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
)

//go:embed cases/*.yaml
var files embed.FS

// Cases are all named cases, by name. A case that does not parse is found by the tests,
// and ends the program at once.
func Cases() []harness.Case {
	names, err := fs.Glob(files, "cases/*.yaml")
	if err != nil {
		panic(err)
	}
	cases := make([]harness.Case, 0, len(names))
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err)
		}
		c, err := harness.ParseCase(name, text)
		if err != nil {
			panic(err)
		}
		if c.Name != strings.TrimSuffix(path.Base(name), ".yaml") {
			panic(name + " holds a case of another name: " + c.Name)
		}
		cases = append(cases, c)
	}
	return cases
}

// Names are the names of all cases, sorted.
func Names() []string {
	var names []string
	for _, c := range Cases() {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

// Find is the case that a word on the command line means: a name, the id of a known
// finding, or a YAML file. Errors are of type *failpoints.UnknownError or
// *harness.InputError.
func Find(word string) (harness.Case, error) {
	for _, c := range Cases() {
		if c.Name == word {
			return c, nil
		}
	}
	var ids []string
	for _, f := range findings {
		if f.Case.Name == "" {
			continue // a race has no case
		}
		if f.ID == word {
			return f.Case, nil
		}
		ids = append(ids, f.ID)
	}
	if !strings.ContainsAny(word, "/.") {
		return harness.Case{}, &failpoints.UnknownError{
			What:    "case (a name of the catalogue, or a YAML file with a dot or slash in its path)",
			Name:    word,
			Nearest: failpoints.Nearest(word, append(Names(), ids...)),
			Known:   Names(),
		}
	}
	text, err := os.ReadFile(word)
	if err != nil {
		return harness.Case{}, &harness.InputError{File: word, Err: err}
	}
	return harness.ParseCase(word, text)
}
