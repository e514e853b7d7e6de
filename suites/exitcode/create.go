package exitcode

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/suites/spec"
)

// created is the statement at which a shim knows the pid of a new init process, but has
// not recorded its container yet.
const created = "stmt:shim:runc-task.service.Create:s.mu.Lock"

var _ = Describe("an init that ends during its Create", Label("exit-code"), func() {
	It("is reported", spec.Quick, func(ctx context.Context) {
		v := spec.Holds(ctx, harness.Case{
			Name: "exit-in-create", Workload: harness.Workload{Containers: []harness.Container{{Signal: "SIGKILL"}}},
			Plan: failpoints.Plan{failpoints.PauseAt(created, failpoints.Steps("kill task", "sleep 300ms", "release")...)},
		})
		Expect(v.Reported).To(ContainElement(And(
			HaveField("Observer", exit.ByTaskExit), HaveField("Status", uint32(137)))))
	})
})
