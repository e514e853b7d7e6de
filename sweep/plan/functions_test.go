package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/must"
)

// The default release has every function that a plan knows by name. A name that no
// release has would silently empty a list.
func TestEachFunctionIsInTheDefaultRelease(t *testing.T) {
	subject := must.Get(containerd.Resolve(t.Context(), "", containerd.Options{}))(t)
	statements, err := subject.Statements()
	if err != nil || len(statements) == 0 {
		t.Fatalf("%d statements: %v", len(statements), err)
	}
	functions := slices.Clone(failpoints.Methods)
	for _, s := range statements {
		functions = append(functions, s.Function)
	}
	is := func(function, name string) bool { return function == name }
	for list, known := range map[string]struct {
		names []string
		fits  func(function, name string) bool
	}{
		"timed":           {append(slices.Clone(timed), timedLoop), is},
		"Retried":         {Retried, is},
		"ForksAndDeletes": {ForksAndDeletes, is},
		"CleansUp":        {append(slices.Clone(CleansUp), shimStops), is},
		"Boots":           {Boots, func(function, name string) bool { return strings.HasSuffix(function, "."+name) }},
		"ownWork":         {ownWork, strings.HasPrefix},
		"Dies":            {Dies, is},
	} {
		for _, name := range known.names {
			if !slices.ContainsFunc(functions, func(f string) bool { return known.fits(f, name) }) {
				t.Errorf("%s: containerd %s has no function %s", list, subject.Version, name)
			}
		}
	}
}
