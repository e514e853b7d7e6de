// Package catalogue has all known bugs of containerd's shim lifecycle. Each bug is a file
// in bugs/.
package catalogue

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/parser"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/plain"
	"github.com/shimquake/shimquake/spelling"
)

// Cases returns the cases of all bugs.
func Cases() (all []harness.Case) {
	for _, b := range known() {
		all = append(all, b.Cases...)
	}
	return all
}

// Excuses returns the findings of a sweep that known bugs explain.
func Excuses() (all []Excuse) {
	for _, b := range known() {
		if b.Sweep != nil {
			all = append(all, *b.Sweep)
		}
	}
	return all
}

// FindBug returns the bug with this id, with this upstream issue or fix ("8981",
// "containerd#8981"), or with a case of this name. Its error is a *spelling.UnknownError.
func FindBug(word string) (Bug, error) {
	bugs := known()
	for _, is := range []func(Bug) bool{
		func(b Bug) bool { return b.ID == word },
		func(b Bug) bool {
			return slices.ContainsFunc(b.Cases, func(c harness.Case) bool { return c.Name == word })
		},
		func(b Bug) bool { return slices.Contains(b.Issues(), number(word)) },
		func(b Bug) bool { return slices.Contains(b.Fixes(), number(word)) },
	} {
		if i := slices.IndexFunc(bugs, is); i >= 0 {
			return bugs[i], nil
		}
	}
	var names []string
	for _, b := range bugs {
		names = append(names, b.ID)
	}
	return Bug{}, &spelling.UnknownError{
		What: "bug", Name: word, Nearest: spelling.Nearest(word, append(names, Names()...)), Known: names,
		Lists: "shimquake list bugs",
	}
}

// number returns the number of a containerd issue, or -1.
func number(word string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimPrefix(word, "containerd"), "#"))
	if err != nil {
		return -1
	}
	return n
}

// Names returns the sorted names of all cases, including those without a fault.
func Names() []string {
	var names []string
	for _, c := range slices.Concat(Cases(), plain.Cases()) {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

// maxCase limits the size of a case's file, in bytes.
const maxCase = 1 << 20

// Find returns the case that a word on the command line names. The word names a case or a
// bug (its first case), or it is the path of a YAML file. A path has a dot or a slash,
// unlike names. Errors are of type *spelling.UnknownError or *harness.InputError.
func Find(word string) (harness.Case, error) {
	if strings.ContainsAny(word, "/.") {
		text, err := foreign.ReadTyped(word, maxCase)
		if err != nil {
			return harness.Case{}, &harness.InputError{File: word, Err: err}
		}
		return parseCase(word, text)
	}
	for _, c := range slices.Concat(Cases(), plain.Cases()) {
		if c.Name == word {
			return c, nil
		}
	}
	if b, err := FindBug(word); err == nil && len(b.Cases) > 0 {
		return b.Cases[0], nil
	}
	return harness.Case{}, &spelling.UnknownError{
		What:    "case (a bug or a case of the catalogue, or a YAML file with a dot or slash in its path)",
		Name:    word,
		Nearest: spelling.Nearest(word, Names()),
		Known:   Names(),
		Lists:   "shimquake list cases",
	}
}

// parseCase parses the file of a case, and looks up the bugs that it names.
func parseCase(file string, text []byte) (harness.Case, error) {
	c, err := harness.ParseCase(file, text)
	if err != nil {
		return c, err
	}
	tree, err := parser.ParseBytes(text, 0)
	for i, id := range c.Bugs {
		if b, unknown := FindBug(id); unknown != nil || b.ID != id {
			unknown = cmp.Or(unknown, fmt.Errorf("%s is the bug %s: write this id", id, b.ID))
			err = errors.Join(err, harness.PlaceAt(file, tree, fmt.Sprintf("bugs[%d]", i), unknown))
		}
	}
	return c, err
}
