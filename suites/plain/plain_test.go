// Package plain holds the specs in which nothing is broken: what the other suites ask of
// a containerd that is hurt, and more, is asked of one that is not.
package plain

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/harness/plain"
	"github.com/shimquake/shimquake/suites/spec"
)

var _ = Describe("where nothing is broken", Label("plain"), func() {
	for _, c := range plain.Cases() {
		It("leaves nothing, and tells the truth: "+strings.TrimPrefix(c.Name, "plain-"), spec.Quick,
			Label(string(c.Workload.WithDefaults().API)),
			func(ctx context.Context) { spec.Holds(ctx, c) })
	}
})
