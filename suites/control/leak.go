package control

import (
	"cmp"
	"context"
	"os"
	"slices"

	"github.com/Masterminds/semver/v3"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/audit"
	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/suites/spec"
)

// plant leaves a leak in a world.
type plant func(context.Context, runner.Scene) error

// control is one plant, and the exact classes of its findings.
type control struct {
	name    string
	api     harness.API
	leave   plant
	class   finding.Class
	besides []finding.Class
	// since is the first release that can have the leak; "" for all.
	since string
	// forgot is set for a process of a container that containerd does not know, which is
	// also reported as forgotten.
	forgot bool
	// audit is the kind of suspect in an audit of a live node. The audit has no earlier
	// inventory: with "" the object may be intended, and is no suspect.
	audit finding.Class
}

// older reports whether a release is older than another one; v2.4.2-rc.1 is older than
// v2.4.2.
func older(version, than string) bool {
	v, err := semver.NewVersion(version)
	return err == nil && v.LessThan(semver.MustParse(than))
}

const taskBundles = "/run/containerd/io.containerd.runtime.v2.task/" + daemon.TaskNamespace + "/"

var controls = []control{
	{
		name:    "a real shim that containerd does not know",
		audit:   finding.ClassShim,
		leave:   startShim,
		class:   finding.ClassShim,
		besides: []finding.Class{finding.ClassSocket},
	},
	{name: "a process without an owner", leave: startSleep, class: finding.ClassProcess},
	{
		name:    "a process of runc's that containerd does not know",
		audit:   finding.ClassProcess,
		forgot:  true,
		leave:   createByRunc,
		class:   finding.ClassProcess,
		besides: []finding.Class{finding.ClassRuncState, finding.ClassCgroup},
	},
	{
		name:  "the socket of a killed shim",
		audit: finding.ClassSocket,
		leave: after(startShim, killShim),
		class: finding.ClassSocket,
	},
	{
		name:  "a bundle",
		audit: finding.ClassBundle,
		leave: makeDir(func(runner.Scene) string { return taskBundles + planted }),
		class: finding.ClassBundle,
	},
	{
		name:  "a bundle whose removal containerd did not finish",
		audit: finding.ClassBundle,
		leave: makeDir(func(runner.Scene) string { return taskBundles + "." + planted }),
		class: finding.ClassBundle,
	},
	{name: "a work directory", audit: finding.ClassBundle, leave: makeDir(func(s runner.Scene) string {
		return s.World.RootDir() + "/io.containerd.runtime.v2.task/" + daemon.TaskNamespace + "/" + planted
	}), class: finding.ClassBundle},
	{name: "a directory of CRI", api: harness.CRI, leave: makeDir(func(s runner.Scene) string {
		return s.World.RootDir() + "/io.containerd.grpc.v1.cri/containers/" + planted
	}), class: finding.ClassCRIDir},
	{name: "a mount", leave: mountTmpfs, class: finding.ClassMount},
	{name: "a cgroup", audit: finding.ClassCgroup, leave: makeCgroup, class: finding.ClassCgroup},
	{
		name:    "the state of a killed container of runc's",
		audit:   finding.ClassRuncState,
		leave:   abandonRunc,
		class:   finding.ClassRuncState,
		besides: []finding.Class{finding.ClassCgroup},
	},
	{name: "a snapshot", leave: prepareSnapshot, class: finding.ClassSnapshot},
	{name: "a lease", leave: createLease, class: finding.ClassLease},
	{name: "a FIFO", leave: makeFIFO, class: finding.ClassFIFO},
	{name: "a container without a task", leave: createContainer, class: finding.ClassContainer},
	{name: "a running task", leave: startTask, class: finding.ClassTask, besides: []finding.Class{
		finding.ClassShim, finding.ClassProcess, finding.ClassSocket, finding.ClassBundle, finding.ClassMount,
		finding.ClassCgroup,
		finding.ClassRuncState, finding.ClassSnapshot, finding.ClassContainer,
	}},
	{name: "a sandbox in containerd's store", leave: createSandbox, class: finding.ClassSandbox, since: "1.7.0"},
	{name: "the directory of a snapshot that cannot be removed", leave: holdSnapshotDir,
		class: finding.ClassFile, besides: []finding.Class{finding.ClassMount}},
	{
		name:  "a place for a temporary mount",
		leave: makeDir(func(runner.Scene) string { return "/tmp/containerd-mount" + planted }),
		class: finding.ClassFile,
	},
	{name: "a file in a folder of its own", leave: after(
		makeDir(func(runner.Scene) string { return "/run/containerd/" + planted }),
		writeFile(func(runner.Scene) string { return "/run/containerd/" + planted + "/file" }),
	), class: finding.ClassFile},
	{
		name:  "shared memory",
		leave: writeFile(func(runner.Scene) string { return "/dev/shm/" + planted }),
		class: finding.ClassFile,
	},
	{
		name:  "a file beside containerd's socket",
		leave: writeFile(func(s runner.Scene) string { return s.Address + ".new" }),
		class: finding.ClassFile,
	},
	{name: "a network namespace with a foreign name", leave: bindNetworkAs("vpn"), class: finding.ClassMount},
	{name: "a pod's network for which CNI's DEL was never called", api: harness.CRI, leave: forgetDel,
		class: finding.ClassNetwork},
	{name: "an image", leave: createImage, class: finding.ClassMetadata},
	{name: "a containerd namespace", leave: createNamespace, class: finding.ClassMetadata},
	{name: "an ingest", leave: beginIngest, class: finding.ClassMetadata, besides: []finding.Class{finding.ClassFile}},
	{name: "an activated mount", leave: activateMount, class: finding.ClassMetadata, since: "2.2.0",
		besides: []finding.Class{finding.ClassMount, finding.ClassFile}},
	{name: "a committed snapshot", leave: commitSnapshot, class: finding.ClassSnapshot},
	{name: "a connection that its client does not close", leave: leaveConnection, class: finding.ClassHandle},
	{name: "a subscription that its client does not end", leave: leaveSubscription, class: finding.ClassHandle},
	{
		name:  "a network namespace without a pod, with a name of CNI's form",
		audit: finding.ClassMount,
		leave: bindNetworkAs("cni-planted"),
		class: finding.ClassMount,
	},
	{
		name:    "the root file system of a removed container",
		audit:   finding.ClassBundle,
		leave:   mountRootFS,
		class:   finding.ClassMount,
		besides: []finding.Class{finding.ClassBundle},
	},
	{
		name:  "a container of CRI that CRI does not list",
		api:   harness.CRI,
		audit: finding.ClassContainer,
		leave: createForCRI,
		class: finding.ClassContainer,
	},
	// Older releases make no lease for a pod, and releases before 2.0 do not add it to
	// the sandbox store.
	{
		name:  "a whole pod, with leaks of most classes; containerd's handles for it are no leak",
		api:   harness.CRI,
		leave: runPod,
		class: finding.ClassSandbox,
		since: "2.3.0",
		besides: []finding.Class{
			finding.ClassShim, finding.ClassProcess, finding.ClassSocket, finding.ClassBundle, finding.ClassCRIDir,
			finding.ClassMount, finding.ClassCgroup, finding.ClassRuncState, finding.ClassSnapshot, finding.ClassLease,
			finding.ClassFIFO, finding.ClassContainer, finding.ClassTask,
		},
	},
}

// after runs one plant after the other.
func after(plants ...plant) plant {
	return func(ctx context.Context, s runner.Scene) error {
		for _, p := range plants {
			if err := p(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
}

var _ = Describe("a world with a planted leak", Label("control"), func() {
	for _, c := range controls {
		text := "is violated by " + c.name
		if c.audit != "" {
			text += ", and an audit finds it"
		}
		labels := []any{spec.Quick}
		if c.class == finding.ClassCgroup || slices.Contains(c.besides, finding.ClassCgroup) {
			labels = append(labels, Label("cgroup"))
		}
		It(text, append(labels, func(ctx context.Context) {
			k := harness.Case{Name: "control-leak", Workload: exits(c.api)}
			if v := clean(ctx, k); c.since != "" && older(v.Version, c.since) {
				Skip(v.Version + " is older than " + c.since)
			}
			k.Workload.Settle = soon
			var found *audit.Report
			v := sabotaged(ctx, k, audited(c.leave, &found))
			Expect(v.Outcome).To(Equal(harness.Violated), "%v", v)
			Expect(classes(v)).To(ConsistOf(append([]finding.Class{c.class}, c.besides...)), "%v", v)
			if c.forgot {
				Expect(v.Violations()).To(ContainElement(And(HaveField("Invariant", finding.Forgot),
					HaveField("Subject.ID", planted), HaveField("Subject.Namespace", daemon.TaskNamespace))), "%v", v)
			}
			accuses(found, c.audit)
		})...)
	}
	It("was made for every class of leak", spec.Quick, func() {
		var have []finding.Class
		for _, c := range controls {
			have = append(have, c.class)
		}
		Expect(have).To(ContainElements(finding.LeakClasses))
	})
})

// sabotaged runs a case with a plant. It keeps no evidence of an expected violation.
func sabotaged(ctx context.Context, c harness.Case, leave plant) harness.Verdict {
	GinkgoHelper()
	c.Containerd = cmp.Or(c.Containerd, os.Getenv(spec.SubjectEnv))
	r := &runner.Runner{Residues: catalogue.Residues(), Evidence: GinkgoT().TempDir(), Log: GinkgoWriter, Sabotage: leave}
	v := r.Run(ctx, c)
	if v.UnableHere() {
		Skip(v.ProblemsText())
	}
	AddReportEntry("planted", v.String(), ReportEntryVisibilityFailureOrVerbose)
	return v
}

// classes returns the classes of the violations, each once.
func classes(v harness.Verdict) []finding.Class {
	var all []finding.Class
	for _, f := range v.Violations() {
		all = append(all, f.Class)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
