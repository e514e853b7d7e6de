package control

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/suites/spec"
)

var _ = Describe("the list of files that may appear", Label("control"), func() {
	It("has only files that a task and a pod need", spec.Quick, func(ctx context.Context) {
		var release string
		var appeared []func(compare.ListedFile) bool
		for _, w := range []harness.Workload{exits(harness.TaskAPI), netPod()} {
			h := clean(ctx, harness.Case{Name: "control-files", Workload: w}).History
			release = h.Version
			after := *h.After.Inventory
			for _, f := range after.Files {
				if !slices.Contains(h.Before.Files, f) {
					appeared = append(appeared, func(l compare.ListedFile) bool { return l.Lets(after, f) })
				}
			}
		}
		for _, l := range compare.FilesThatMayAppear() {
			if !l.NeededBy(release) {
				continue
			}
			Expect(slices.ContainsFunc(appeared, func(lets func(compare.ListedFile) bool) bool { return lets(l) })).
				To(BeTrue(), "%s: no file of that kind appeared: does %s need it (oracle/compare/files.yaml)?", l.Path, release)
		}
	})
})
