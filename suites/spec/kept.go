package spec

import (
	"context"
	"fmt"
	"sync"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/report"
)

// ReportEnv is the environment variable with the folder of the suites' report
// (scripts/suites), which has the evidence of all violated cases. If it is empty, the
// evidence is in out/evidence of the checkout.
const ReportEnv = "SHIMQUAKE_REPORT"

// entry is a verdict in Ginkgo's report.
type entry struct {
	harness.Verdict
	// Known are the ids of the bugs that may explain a violation.
	Known string `json:"known,omitempty"`
}

// String returns the text for a verdict table.
func (e entry) String() string {
	s := string(e.Outcome)
	if e.Known != "" {
		s += fmt.Sprintf(" (known: %s)", e.Known)
	}
	return s
}

// plain has the runs without a fault, by their names.
var plain sync.Map

// keepWithout keeps a run of a violated case without its faults in the evidence, as
// shimquake run does. Equal cases share the run.
func keepWithout(ctx context.Context, v harness.Verdict) {
	ginkgo.GinkgoHelper()
	name := report.WithoutName(v.Case)
	without, ok := plain.Load(name)
	if !ok {
		without = cases.Run(ctx, report.WithoutFault(v.Case))
		if ctx.Err() != nil {
			return
		}
		plain.Store(name, without)
	}
	gomega.Expect(report.KeepWithout(v.Evidence, report.WithoutFile, without.(harness.Verdict))).To(gomega.Succeed())
}
