// Package upgrade has the specs about upgrades and downgrades of containerd while
// containers run. The old shims keep running, and the new release reports the exits.
package upgrade

import (
	"cmp"
	"context"
	"os"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/suites/spec"
)

// The newest releases of older branches.
const older, oldest = "v2.3.7", "v1.7.35"

// subject returns the name of the release under test for the step `install`.
func subject() string { return cmp.Or(os.Getenv(spec.SubjectEnv), containerd.DefaultRelease) }

// through returns a workload of two containers that run while the releases are installed
// one after another.
func through(releases ...string) harness.Workload {
	steps := []string{"create all", "mark created", "start all", "mark running"}
	for _, r := range releases {
		steps = append(steps, "install "+r, "restart containerd")
	}
	steps = append(steps, "create c2", "start c2", "end all", "wait all", "mark exited", "delete all")
	return harness.Workload{Containers: []harness.Container{{Exit: 7}, {Signal: "SIGKILL"}, {Exit: 3}}, Script: steps}
}

// podThrough returns a workload of a pod that runs while another release is installed.
func podThrough(release string) harness.Workload {
	w := through(release)
	w.API = harness.CRI
	w.Script = []string{"run pod", "create c0", "create c1", "start c0", "start c1", "mark running",
		"install " + release, "restart containerd", "create c2", "start c2", "end all", "wait all", "mark exited",
		"stop pod", "remove pod"}
	return w
}

var _ = Describe("containerd that another release takes the place of, while containers run,", Label("crash"), func() {
	DescribeTable("reports their exits and leaves nothing",
		func(ctx context.Context, c harness.Case) { spec.Holds(ctx, c) },
		Entry("there and back", spec.Quick,
			harness.Case{Name: "upgrade-there-and-back", Workload: through(older, subject())}),
		Entry("from two branches before", Label("slow"),
			harness.Case{Name: "upgrade-twice", Containerd: oldest, Workload: through(older, subject())}),
		Entry("of a pod", spec.Quick,
			harness.Case{Name: "upgrade-pod", Containerd: older, Workload: podThrough(subject())}),
		Entry("of a pod, from two branches before", Label("slow"),
			harness.Case{Name: "upgrade-pod-oldest", Containerd: oldest, Workload: podThrough(subject())}),
		Entry("of a pod, back to the branch before", Label("slow"),
			harness.Case{Name: "downgrade-pod", Workload: podThrough(older)}),
		Entry("when it crashes while it loads the shims of the old one", spec.Quick,
			harness.Case{Name: "upgrade-crashed", Containerd: older, Workload: through(subject()), Plan: failpoints.Plan{
				failpoints.Once("stmt:containerd:runtime.ShimManager.loadShims:bf-err-f.Readdirnames-1", term.Crash)}}),
	)
})
