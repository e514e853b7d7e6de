// Package plain holds the specs in which nothing is broken: what the other suites ask of
// a containerd that is hurt, and more, is asked of one that is not.
package plain

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/plain"
	"github.com/shimquake/shimquake/suites/spec"
)

// emulated is how many of the cases an emulated machine runs by default, too: all take it
// some ten minutes (scripts/vm-suites, LABELS).
const emulated = 2

var _ = Describe("where nothing is broken", func() {
	for n, c := range plain.Cases() {
		labels := []string{string(c.Workload.WithDefaults().API)}
		if n >= emulated {
			labels = append(labels, "plain")
		}
		It("leaves nothing, and tells the truth: "+strings.TrimPrefix(c.Name, "plain-"), spec.Quick,
			Label(labels...),
			func(ctx context.Context) {
				v := spec.Holds(ctx, c)
				if show := shows[c.Name]; show != nil && v.Outcome == harness.Held {
					show(v)
				}
			})
	}
})

var _ = It("has shown only of cases that exist", spec.Quick, func() {
	names := map[string]bool{}
	for _, c := range plain.Cases() {
		names[c.Name] = true
	}
	for name := range shows {
		Expect(names).To(HaveKey(name))
	}
})
