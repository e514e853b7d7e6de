// Package plain has the specs without a fault. An unmodified run of containerd must pass
// the checks of the other suites, and more.
package plain

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/plain"
	"github.com/shimquake/shimquake/suites/spec"
)

// emulated is the number of cases that an emulated machine also runs by default: all take
// some ten minutes (scripts/vm-suites, LABELS).
const emulated = 2

var _ = Describe("a run without a fault", func() {
	spec.CheckNames(plain.Cases(), shows)
	for n, c := range plain.Cases() {
		labels := []string{string(c.Workload.WithDefaults().API)}
		if n >= emulated {
			labels = append(labels, "plain")
		}
		It("leaves nothing, and reports the truth: "+strings.TrimPrefix(c.Name, "plain-"), spec.Quick,
			Label(labels...),
			func(ctx context.Context) {
				v := spec.Holds(ctx, c)
				if show := shows[c.Name]; show != nil && v.Outcome == harness.Held {
					show(v)
				}
			})
	}
})
