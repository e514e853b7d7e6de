package control

import (
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
	"github.com/shimquake/shimquake/oracle"
	"github.com/shimquake/shimquake/suites/spec"
)

// plant leaves something in a world.
type plant func(context.Context, runner.Scene) error

// control is one thing to leave, and what must be found of it: these classes and no
// others.
type control struct {
	name    string
	api     harness.API
	leave   plant
	class   oracle.Class
	besides []oracle.Class
	// since is the first release that can leave it; "" for all.
	since string
	// audit is what an audit of a live node must find of it; "": it knows no time before, so
	// that this is something that somebody may want, and it must not accuse it.
	audit audit.Kind
}

// older reports whether a release is older than another; v2.4.2-rc.1 is older than
// v2.4.2.
func older(version, than string) bool {
	v, err := semver.NewVersion(version)
	return err == nil && v.LessThan(semver.MustParse(than))
}

const taskBundles = "/run/containerd/io.containerd.runtime.v2.task/" + daemon.TaskNamespace + "/"

var controls = []control{
	{
		name:    "a real shim that containerd does not know",
		audit:   audit.Shim,
		leave:   startShim,
		class:   oracle.ClassShim,
		besides: []oracle.Class{oracle.ClassSocket},
	},
	{name: "a process that belongs to nobody", leave: startSleep, class: oracle.ClassProcess},
	{
		name:    "a process of runc's that containerd does not know",
		audit:   audit.Forgotten,
		leave:   createByRunc,
		class:   oracle.ClassProcess,
		besides: []oracle.Class{oracle.ClassRuncState, oracle.ClassCgroup},
	},
	{
		name:  "the socket of a killed shim",
		audit: audit.Listener,
		leave: after(startShim, killShim),
		class: oracle.ClassSocket,
	},
	{
		name:  "a bundle",
		audit: audit.Directory,
		leave: makeDir(func(runner.Scene) string { return taskBundles + planted }),
		class: oracle.ClassBundle,
	},
	{
		name:  "a bundle in whose removal containerd died",
		audit: audit.Directory,
		leave: makeDir(func(runner.Scene) string { return taskBundles + "." + planted }),
		class: oracle.ClassBundle,
	},
	{name: "a work directory", audit: audit.Directory, leave: makeDir(func(s runner.Scene) string {
		return s.World.RootDir() + "/io.containerd.runtime.v2.task/" + daemon.TaskNamespace + "/" + planted
	}), class: oracle.ClassBundle},
	{name: "a directory of CRI", api: harness.CRI, leave: makeDir(func(s runner.Scene) string {
		return s.World.RootDir() + "/io.containerd.grpc.v1.cri/containers/" + planted
	}), class: oracle.ClassCRIDir},
	{name: "a mount", leave: mountTmpfs, class: oracle.ClassMount},
	{name: "a cgroup", audit: audit.Group, leave: makeCgroup, class: oracle.ClassCgroup},
	{
		name:    "the state of a killed container of runc's",
		audit:   audit.RuncState,
		leave:   abandonRunc,
		class:   oracle.ClassRuncState,
		besides: []oracle.Class{oracle.ClassCgroup},
	},
	{name: "a snapshot", leave: prepareSnapshot, class: oracle.ClassSnapshot},
	{name: "a lease", leave: createLease, class: oracle.ClassLease},
	{name: "a FIFO", leave: makeFIFO, class: oracle.ClassFIFO},
	{name: "a container without a task", leave: createContainer, class: oracle.ClassContainer},
	{name: "a running task", leave: startTask, class: oracle.ClassTask, besides: []oracle.Class{
		oracle.ClassShim, oracle.ClassProcess, oracle.ClassSocket, oracle.ClassBundle, oracle.ClassMount, oracle.ClassCgroup,
		oracle.ClassRuncState, oracle.ClassSnapshot, oracle.ClassContainer,
	}},
	{name: "a sandbox in containerd's store", leave: createSandbox, class: oracle.ClassSandbox, since: "1.7.0"},
	{name: "the directory of a snapshot, which something keeps from being removed", leave: holdSnapshotDir,
		class: oracle.ClassFile, besides: []oracle.Class{oracle.ClassMount}},
	{
		name:  "a place for a temporary mount",
		leave: makeDir(func(runner.Scene) string { return "/tmp/containerd-mount" + planted }),
		class: oracle.ClassFile,
	},
	{name: "a file in a folder of its own", leave: after(
		makeDir(func(runner.Scene) string { return "/run/containerd/" + planted }),
		writeFile(func(runner.Scene) string { return "/run/containerd/" + planted + "/file" }),
	), class: oracle.ClassFile},
	{
		name:  "shared memory",
		leave: writeFile(func(runner.Scene) string { return "/dev/shm/" + planted }),
		class: oracle.ClassFile,
	},
	{
		name:  "a file beside containerd's socket",
		leave: writeFile(func(s runner.Scene) string { return s.Address + ".new" }),
		class: oracle.ClassFile,
	},
	{name: "a network namespace of somebody's own", leave: bindNetworkAs("vpn"), class: oracle.ClassMount},
	{name: "a pod's network for which CNI's DEL was never called", api: harness.CRI, leave: forgetDel,
		class: oracle.ClassNetwork},
	{name: "an image", leave: createImage, class: oracle.ClassMetadata},
	{name: "a containerd namespace", leave: createNamespace, class: oracle.ClassMetadata},
	{name: "an ingest", leave: beginIngest, class: oracle.ClassMetadata, besides: []oracle.Class{oracle.ClassFile}},
	{name: "an activated mount", leave: activateMount, class: oracle.ClassMetadata, since: "2.2.0",
		besides: []oracle.Class{oracle.ClassMount, oracle.ClassFile}},
	{name: "a committed snapshot", leave: commitSnapshot, class: oracle.ClassSnapshot},
	{name: "a connection that its client does not close", leave: leaveConnection, class: oracle.ClassHandle},
	{name: "a subscription that its client does not end", leave: leaveSubscription, class: oracle.ClassHandle},
	{
		name:  "a network namespace that no pod has, as CNI's are named",
		audit: audit.Mounted,
		leave: bindNetworkAs("cni-planted"),
		class: oracle.ClassMount,
	},
	{
		name:    "the root file system of a container that is gone",
		audit:   audit.Directory,
		leave:   mountRootFS,
		class:   oracle.ClassMount,
		besides: []oracle.Class{oracle.ClassBundle},
	},
	{
		name:  "a container of CRI's that CRI does not list",
		api:   harness.CRI,
		audit: audit.InCRI,
		leave: createForCRI,
		class: oracle.ClassContainer,
	},
	// Older releases make no lease for a pod, and those before 2.0 keep it out of the
	// sandbox store.
	{
		name:  "a whole pod, which leaves something of most classes; what containerd holds for it is no leak",
		api:   harness.CRI,
		leave: runPod,
		class: oracle.ClassSandbox,
		since: "2.3.0",
		besides: []oracle.Class{
			oracle.ClassShim, oracle.ClassProcess, oracle.ClassSocket, oracle.ClassBundle, oracle.ClassCRIDir,
			oracle.ClassMount, oracle.ClassCgroup, oracle.ClassRuncState, oracle.ClassSnapshot, oracle.ClassLease,
			oracle.ClassFIFO, oracle.ClassContainer, oracle.ClassTask,
		},
	},
}

// after does one after the other.
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

var _ = Describe("a world in which something was left on purpose", Label("control"), func() {
	for _, c := range controls {
		text := "is violated by " + c.name
		if c.audit != "" {
			text += ", and an audit finds it"
		}
		labels := []any{spec.Quick}
		if c.class == oracle.ClassCgroup || slices.Contains(c.besides, oracle.ClassCgroup) {
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
			Expect(classes(v)).To(ConsistOf(append([]oracle.Class{c.class}, c.besides...)), "%v", v)
			accuses(found, c.audit)
		})...)
	}
	It("was made for every class of leak", spec.Quick, func() {
		var have []oracle.Class
		for _, c := range controls {
			have = append(have, c.class)
		}
		Expect(have).To(ContainElements(oracle.LeakClasses))
	})
})

// sabotaged runs a case with a plant. What violates by design is no evidence worth
// keeping.
func sabotaged(ctx context.Context, c harness.Case, leave plant) harness.Verdict {
	GinkgoHelper()
	c.Containerd = os.Getenv(spec.SubjectEnv)
	r := &runner.Runner{Residues: catalogue.Residues(), Evidence: GinkgoT().TempDir(), Log: GinkgoWriter, Sabotage: leave}
	v := r.Run(ctx, c)
	if v.Unable() {
		Skip(v.Why())
	}
	AddReportEntry("planted", v.String(), ReportEntryVisibilityFailureOrVerbose)
	return v
}

// classes are those of what violates, each once.
func classes(v harness.Verdict) []oracle.Class {
	var all []oracle.Class
	for _, f := range v.Violations() {
		all = append(all, f.Class)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
