// Package control holds the positive controls of the whole product: every kind of leak
// and every kind of wrong report is planted once in a real world with a real containerd,
// between the workload's end and the oracle's look, and must be found. A harness that
// finds nothing would otherwise pass for a containerd that leaks nothing.
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

// soon is how long the oracle waits for what was planted to go away. It never does, so
// the default of 6s would only be waited out.
const soon = time.Second / 2

// exits is a workload that ends with 7.
func exits(api harness.API) harness.Workload {
	return harness.Workload{API: api, Containers: []harness.Container{{Exit: 7}}}
}

// cleaned are the verdicts of the cases that hold when nothing is planted, by workload
// and plan: controls of the same workload need no world of their own for that.
var cleaned = map[string]harness.Verdict{}

// clean asserts that a case holds when nothing is planted.
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
