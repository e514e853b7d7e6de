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

// IsCatalogued reports whether the spec is a case of the catalogue.
func (s Spec) IsCatalogued() bool { return strings.HasPrefix(s.Workload, ofCatalogue) }

// catalogued returns the case of the catalogue that the spec is, if it is one.
func (s Spec) catalogued() (c harness.Case, ok bool, err error) {
	name, ok := strings.CutPrefix(s.Workload, ofCatalogue)
	if !ok {
		return c, false, nil
	}
	all := catalogue.Cases()
	if i := slices.IndexFunc(all, func(c harness.Case) bool { return c.Name == name }); i >= 0 {
		return all[i], true, nil
	}
	return c, true, spelling.Unknown("case of the catalogue", name, catalogue.Names())
}
