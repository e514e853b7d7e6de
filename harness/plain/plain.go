// Package plain has the cases without faults. Suites and sweeps run them first: if such a
// case does not hold, a case with a fault shows nothing.
package plain

import (
	_ "embed" // the cases
	"slices"
	"sync"

	"github.com/goccy/go-yaml"

	"github.com/shimquake/shimquake/harness"
)

//go:embed plain.yaml
var text []byte

var cases = sync.OnceValue(func() (all []harness.Case) {
	if err := yaml.UnmarshalWithOptions(text, &all, yaml.UseJSONUnmarshaler()); err != nil {
		panic(err)
	}
	return all
})

// Cases returns the cases without faults. Except for the bugs that they name, they must
// hold: a finding is a bug of the release or of the harness. They cover every API, with
// restarts, bystanders and crash loops in a running pod.
func Cases() []harness.Case { return slices.Clone(cases()) }
