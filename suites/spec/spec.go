// Package spec has the common parts of the specs: the containerd under test, and the
// assertions about a Case.
package spec

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/fixtures/source"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// SubjectEnv names the containerd that the suites test: a release, bin:DIR or src:DIR.
// Empty: the default release.
const SubjectEnv = "SHIMQUAKE_CONTAINERD"

// Quick labels the specs that also run in `make suites SHORT=1`.
var Quick = ginkgo.Label("quick")

// Slow labels a spec that takes more than five seconds, mostly to wait. Such specs
// begin first, so that no process waits for one at the end.
var Slow = []any{ginkgo.Label("slow"), ginkgo.SpecPriority(1)}

// VerdictEntry is the name of the report entry with a spec's verdict.
const VerdictEntry = "verdict"

var cases = &runner.Runner{Residues: catalogue.Residues(), Evidence: evidence(), Log: ginkgo.GinkgoWriter}

// evidence returns the folder for the evidence of violations. It does not depend on the
// working directory of go test.
func evidence() string {
	if dir := os.Getenv(ReportEnv); dir != "" {
		return filepath.Join(dir, "evidence")
	}
	root, err := source.Checkout()
	if err != nil {
		return ""
	}
	return filepath.Join(root, "out", "evidence")
}

// Run is the TestXxx of the suite.
func Run(t *testing.T, name string) {
	gomega.RegisterFailHandler(ginkgo.Fail)
	ginkgo.RunSpecs(t, name)
}

// Prepare is for the suite's SynchronizedBeforeSuite. It builds the containerd under
// test once, so that no spec waits a minute for the build.
func Prepare(ctx context.Context) {
	if err := cases.Prepare(ctx, os.Getenv(SubjectEnv)); err != nil {
		if runner.IsUnsupported(err) {
			ginkgo.Skip(err.Error())
		}
		ginkgo.Fail(err.Error())
	}
}

// Named returns a case of the catalogue.
func Named(name string) harness.Case {
	c, err := catalogue.Find(name)
	if err != nil {
		panic(err)
	}
	return c
}

// Run1 runs a case on the containerd under test, with bystanders if possible, and
// reports its verdict. It skips the spec, with the reason, if this machine cannot run
// the case.
func Run1(ctx context.Context, c harness.Case) harness.Verdict {
	ginkgo.GinkgoHelper()
	if s := os.Getenv(SubjectEnv); s != "" && c.Containerd == "" {
		c.Containerd = s
	}
	c.Workload.Bystander = !c.Plan.OfNode()
	ginkgo.By("running " + c.Name + ": " + c.Plan.String())
	v := cases.Run(ctx, c)
	if v.UnableHere() {
		ginkgo.Skip(v.ProblemsText())
	}
	e := entry{Verdict: v}
	if v.Outcome == harness.Violated {
		e.Known = catalogue.IDs(catalogue.Known(v.Case, v.Version))
	}
	if os.Getenv(ReportEnv) != "" && v.Outcome == harness.Violated && !v.Case.Faultless() {
		keepWithout(ctx, v)
	}
	ginkgo.AddReportEntry(VerdictEntry, e, ginkgo.ReportEntryVisibilityFailureOrVerbose)
	return v
}

// Holds runs a case and asserts that it holds. On a release with a bug that the case
// names, it asserts that the case shows such a bug and nothing else.
func Holds(ctx context.Context, c harness.Case) harness.Verdict {
	ginkgo.GinkgoHelper()
	for _, id := range c.Bugs {
		_, err := catalogue.FindBug(id)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
	}
	v := Run1(ctx, c)
	gomega.Expect(catalogue.CompareWithKnown(v)).To(gomega.Succeed())
	return v
}

// Shows runs a case and asserts that it has the findings `left` and perhaps `may`, and no
// others.
func Shows(ctx context.Context, c harness.Case, left, may []finding.Match) harness.Verdict {
	ginkgo.GinkgoHelper()
	v := Run1(ctx, c)
	gomega.Expect(v.Outcome).To(gomega.Equal(harness.Violated), "%v", v)
	lacks, other := catalogue.Differences([]catalogue.Bug{{Left: left, May: may}}, v.Violations())
	gomega.Expect(lacks).To(gomega.BeEmpty(), "%v", v)
	gomega.Expect(other).To(gomega.BeEmpty(), "%v", v)
	return v
}

// OneShutdown reports whether the containerd under test is a release from 2.0 to 2.3.
// These send a pod's shim only the Shutdown of its sandbox. Others also send one after
// the Delete of each container, and the shim exits at the last one.
func OneShutdown() bool {
	v, err := semver.NewVersion(os.Getenv(SubjectEnv))
	return err == nil && v.Major() == 2 && v.Minor() < 4
}

// HaveFacts matches a finding with these facts.
func HaveFacts(want fact.Facts) types.GomegaMatcher {
	return gomega.WithTransform(
		func(f finding.Finding) bool { return f.Facts.Has(want) },
		gomega.BeTrueBecause("facts: %s", want),
	)
}
