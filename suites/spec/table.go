package spec

import (
	"context"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

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

// DescribeTables makes specs in which the cases of the tables hold. quick are the names
// of the cases that also run in `make suites SHORT=1`.
func DescribeTables(tables []Table, quick map[string]bool) {
	ginkgo.GinkgoHelper()
	for _, t := range tables {
		args := []any{func(ctx context.Context, c harness.Case) { Holds(ctx, c) }}
		for _, r := range t.Rows {
			labels := ginkgo.Label()
			if quick[r.Name] {
				labels = Quick
			}
			args = append(args, ginkgo.Entry(r.Title, labels, r.Case))
		}
		ginkgo.DescribeTable(t.Title, args...)
	}
}

// CasesOf returns the cases of the tables.
func CasesOf(tables []Table) (all []harness.Case) {
	for _, t := range tables {
		for _, r := range t.Rows {
			all = append(all, r.Case)
		}
	}
	return all
}

// ExpectCases expects that each key is the name of a case.
func ExpectCases[V any](cases []harness.Case, byName map[string]V) {
	ginkgo.GinkgoHelper()
	for name := range byName {
		gomega.Expect(cases).To(gomega.ContainElement(gomega.HaveField("Name", name)))
	}
}
