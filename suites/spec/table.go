package spec

import (
	"context"
	"slices"

	"github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/harness"
)

// Table has the cases of one way to inject a fault, one for each state or call.
type Table struct {
	Title string
	Rows  []Row
}

// Row is a row of a table: its title, and its case.
type Row struct {
	Title string
	harness.Case
}

// DescribeTables makes specs in which the cases of the tables hold. quick has the names
// of the cases that also run in `make suites SHORT=1`. known has the bugs of a case, by
// its name.
func DescribeTables(tables []Table, quick map[string]bool, known map[string][]string) {
	ginkgo.GinkgoHelper()
	var all []harness.Case
	for _, t := range tables {
		args := []any{func(ctx context.Context, c harness.Case) { Holds(ctx, c) }}
		for _, r := range t.Rows {
			labels := ginkgo.Label()
			if quick[r.Name] {
				labels = Quick
			}
			r.Bugs = known[r.Name]
			args = append(args, ginkgo.Entry(r.Title, labels, r.Case))
			all = append(all, r.Case)
		}
		ginkgo.DescribeTable(t.Title, args...)
	}
	CheckNames(all, quick)
	CheckNames(all, known)
}

// CheckNames panics if a key is not the name of a case.
func CheckNames[V any](cases []harness.Case, byName map[string]V) {
	for name := range byName {
		if !slices.ContainsFunc(cases, func(c harness.Case) bool { return c.Name == name }) {
			panic("no case has the name " + name)
		}
	}
}
