package runner

import (
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/inject"
)

// requirement is something that the machine must have to run some cases.
type requirement struct {
	what   string // the ability that depends on it
	wanted func(harness.Case) bool
	check  func() error // its errors name the remedy; IsUnsupported returns true for them
}

const anyCase = "run any case"

var requirements = slices.Concat(
	[]requirement{{anyCase, func(harness.Case) bool { return true }, world.Check}}, ofCases(), ofFaults())

// ofCases returns the requirements of workloads, which are cgroup controllers.
func ofCases() (all []requirement) {
	for _, c := range harness.Controllers {
		all = append(all, requirement{c.For, c.Wanted, func() error { return world.Needs(c.Name) }})
	}
	return all
}

// ofFaults returns the requirements of the kinds of faults.
func ofFaults() (all []requirement) {
	for _, n := range inject.Needs() {
		all = append(all, requirement{n.What, func(c harness.Case) bool { return n.Wanted(c.Plan) }, n.Available})
	}
	return all
}

func (r requirement) unmet() error {
	if err := r.check(); err != nil {
		return fmt.Errorf("this machine cannot %s: %w", r.what, err)
	}
	return nil
}

// checkRequirements returns an error if this machine lacks something that the case needs.
// IsUnsupported returns true for the error.
func checkRequirements(c harness.Case) error {
	for _, r := range requirements {
		if !r.wanted(c) {
			continue
		}
		if err := r.unmet(); err != nil {
			return err
		}
	}
	return nil
}

// Lacks returns an error for each kind of case that this machine cannot run, with the
// reason and the remedy. The verdict of such a case is invalid, with a problem of kind
// harness.ByMachine.
func Lacks() []error {
	var lacks []error
	for _, r := range requirements {
		if err := r.unmet(); err != nil {
			lacks = append(lacks, err)
		}
		if len(lacks) > 0 && r.what == anyCase {
			break // the other errors follow from this one
		}
	}
	return lacks
}
