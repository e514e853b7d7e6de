package harness

import (
	"fmt"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/iopressure"
	"github.com/shimquake/shimquake/failpoints/slowsys"
	"github.com/shimquake/shimquake/fixtures/world"
)

// need is something that cases take of the machine.
type need struct {
	what   string // what the machine cannot do without it
	wanted func(Case) bool
	check  func() error // its errors are Unable, and say what to do
}

const anyCase = "run any case"

var needs = []need{
	{anyCase, always, world.Check},
	// A case with the fake shim, too: it uses its id again with runc.
	{"run containers", always, func() error { return world.Needs("devices") }},
	// A pod's containers have CPU shares, which runc refuses to drop.
	{"run pods", func(c Case) bool { return c.Workload.API == CRI }, func() error { return world.Needs("cpu") }},
	{"put a disk under pressure (io: faults)", plans(failpoints.IO), iopressure.Available},
	{"delay a system call (sys: faults)", plans(failpoints.Sys), slowsys.Available},
}

func always(Case) bool { return true }

func plans(k failpoints.Kind) func(Case) bool {
	return func(c Case) bool {
		for _, f := range c.Plan {
			if f.At.Kind == k {
				return true
			}
		}
		return false
	}
}

func (n need) unmet() error {
	if err := n.check(); err != nil {
		return fmt.Errorf("this machine cannot %s: %w", n.what, err)
	}
	return nil
}

// Able says, before anything is made, whether this machine has what the case takes. Its
// errors are Unable.
func (c Case) Able() error {
	for _, n := range needs {
		if !n.wanted(c) {
			continue
		}
		if err := n.unmet(); err != nil {
			return err
		}
	}
	return nil
}

// Lacks says what kinds of cases this machine cannot run, each with the reason and what
// to do. The verdicts of those cases are invalid and Unable, for the same reason.
func Lacks() []error {
	var lacks []error
	for _, n := range needs {
		if err := n.unmet(); err != nil {
			lacks = append(lacks, err)
		}
		if len(lacks) > 0 && n.what == anyCase {
			break // the rest follows from it
		}
	}
	return lacks
}
