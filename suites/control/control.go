// Package control has the positive controls of the whole product. Each kind of leak and
// of wrong report is planted once, after the workload and before the inventory. It is
// planted in a world: a throw-away node with a real containerd. Shimquake must find it.
// Without these controls, a harness that finds nothing could be broken.
package control

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/suites/spec"
)

// soon is the time that the oracle gives a planted leak to disappear. It never
// disappears, so the default of 6s would only cost time.
const soon = time.Second / 2

// exits is a workload that ends with 7.
func exits(api harness.API) harness.Workload {
	return harness.Workload{API: api, Containers: []harness.Container{{Exit: 7}}}
}

// cleaned is a cache of the verdicts without a plant, by workload and plan. Controls with
// the same workload share a verdict.
var cleaned = map[string]harness.Verdict{}

// clean asserts that a case holds without a plant.
func clean(ctx context.Context, c harness.Case) harness.Verdict {
	GinkgoHelper()
	key, err := json.Marshal([]any{c.Workload, c.Plan})
	Expect(err).NotTo(HaveOccurred())
	if v, ok := cleaned[string(key)]; ok {
		return v
	}
	v := spec.Run1(ctx, c)
	Expect(v.Outcome).To(Equal(harness.Held), "%v", v)
	Expect(v.Violations()).To(BeEmpty())
	cleaned[string(key)] = v
	return v
}
