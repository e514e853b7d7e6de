package plan

import (
	"slices"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/spelling"
)

// ofCatalogue begins the workload of a spec that is a case of the catalogue.
const ofCatalogue = "case "

// Catalogued returns the spec of a case of the catalogue. Only the case's name counts:
// the faults describe it.
func Catalogued(c harness.Case) Spec {
	s := Spec{Workload: ofCatalogue + c.Name}
	for _, f := range c.Plan {
		of := Fault{Point: f.At, Nth: 1}
		for _, clause := range f.Do.Clauses() {
			if clause.Action == term.Off {
				of.Nth += clause.Count
				continue
			}
			of.Times, clause.Count = clause.Count, 0
			of.Action = clause.String()
			break
		}
		s.Faults = append(s.Faults, of)
	}
	return s
}

// CaseName returns the name of the catalogue's case that the spec is, or "".
func (s Spec) CaseName() string {
	if name, ok := strings.CutPrefix(s.Workload, ofCatalogue); ok {
		return name
	}
	return ""
}

// Is reports whether a case that ran is the spec's. A case of the catalogue may have
// changed since.
func (s Spec) Is(ran harness.Case) bool {
	now, ok, err := s.catalogued()
	now.Containerd, now.Bugs, ran.Bugs = ran.Containerd, nil, nil
	return err == nil && (!ok || now.String() == ran.String())
}

// catalogued returns the case of the catalogue that the spec is, if it is one.
func (s Spec) catalogued() (c harness.Case, ok bool, err error) {
	name := s.CaseName()
	if name == "" {
		return c, false, nil
	}
	all := catalogue.Cases()
	if i := slices.IndexFunc(all, func(c harness.Case) bool { return c.Name == name }); i >= 0 {
		return all[i], true, nil
	}
	return c, true, spelling.Unknown("case of the catalogue", name, catalogue.Names())
}
