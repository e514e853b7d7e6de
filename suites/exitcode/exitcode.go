// Package exitcode holds the specs about exit codes: whatever breaks, no observer may
// report another one than the container's own. It is a matrix of faults by ends, and by
// both APIs. The plain cases have the ends without a fault. Faults of umount2 and
// Shutdown come later in the lifecycle, and have folders of their own.
package exitcode

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/suites/spec"
)

// end is how a container ends when nothing else ends it.
type end struct {
	name      string
	container harness.Container
	status    uint32
}

// The columns. Each fault meets a container that exits with 7, which containerd never
// makes up, a container that the client kills, and a third end. containerd reports 255
// for an exit that it does not know.
var (
	exit7    = end{"exit 7", harness.Container{Exit: 7}, 7}
	killed   = end{"SIGKILL", harness.Container{Signal: "SIGKILL"}, 137}
	exit0    = end{"exit 0", harness.Container{Exit: 0}, 0}
	exit255  = end{"exit 255", harness.Container{Exit: 255}, 255}
	stopped  = end{"SIGTERM", harness.Container{Signal: "SIGTERM"}, 143}
	crashing = end{"SIGSEGV and a core", harness.Container{Segfault: harness.SegfaultCore}, 139}
)

// fault is a row.
type fault struct {
	name, what string
	plan       failpoints.Plan
	// third is the end that it meets besides exit7 and killed.
	third end
	// apis are those by which the fault can be met after the container runs. Default: both.
	apis []harness.API
	// kills says that containerd has to end the container, with 137. The container would end
	// with 143 otherwise, by the client's signal. An exit of its own at that very moment
	// would be unseen.
	kills bool
	// bad is what releases are known to tell of a container that ended with that status.
	bad func(harness.API, end) []harness.Bad
}

var faults = []fault{
	{
		name:  "containerd-dies-running",
		what:  "containerd is SIGKILLed while the container runs",
		plan:  kill("proc:containerd:running"),
		third: stopped,
	},
	{
		name:  "containerd-dies-exited",
		what:  "containerd is SIGKILLed when the container has exited",
		plan:  kill("proc:containerd:exited"),
		third: exit255,
	},
	{
		name:  "container-dies-meanwhile",
		what:  "the container is SIGKILLed while containerd is down",
		kills: true,
		bad:   forgotten,
		plan:  append(kill("proc:containerd:running"), kill("proc:task:running")...),
	},
	{
		name:  "shim-dies-running",
		what:  "the shim is SIGKILLed while the container runs",
		plan:  kill("proc:shim:running"),
		kills: true,
		bad:   exitUnheard,
	},
	{
		name:  "shim-dies-exited",
		what:  "the shim is SIGKILLed when the container has exited",
		plan:  kill("proc:shim:exited"),
		third: exit0,
		bad:   cleanupLies,
	},
	{
		name:  "delete-refused",
		what:  "the shim refuses Delete once",
		plan:  plan(failpoints.Error("rpc:shim:Task.Delete:entry", 1, "injected")),
		third: crashing,
	},
	{
		name:  "delete-refused-twice",
		what:  "the shim refuses Delete twice",
		plan:  plan(failpoints.Error("rpc:shim:Task.Delete:entry", 2, "injected")),
		third: exit255,
	},
	{
		name:  "delete-reply-lost",
		what:  "the shim's reply to Delete is lost",
		plan:  plan(failpoints.Error("rpc:shim:Task.Delete:exit", 1, "injected")),
		third: exit0,
		bad:   retryLies,
	},
	// CRI makes its Wait and its first State when it starts a container, and gives the
	// container up when they fail.
	{
		name:  "wait-refused",
		what:  "the shim refuses Wait once",
		plan:  plan(failpoints.Error("rpc:shim:Task.Wait:entry", 1, "injected")),
		third: stopped,
		apis:  task,
	},
	{
		name:  "state-refused",
		what:  "the shim refuses State once",
		plan:  plan(failpoints.Error("rpc:shim:Task.State:entry", 1, "injected")),
		third: crashing,
		apis:  task,
	},
}

var task = []harness.API{harness.TaskAPI}

func plan(f failpoints.Fault) failpoints.Plan { return failpoints.Plan{f} }

func kill(point string) failpoints.Plan { return plan(failpoints.Kill(point)) }

// cleanupLies: the `delete` command of those releases answers 137 for a container that
// has exited. Of one that a SIGKILL has ended that is the truth, and CRI, which deletes a
// task as soon as it has ended, is done with it by then.
func cleanupLies(api harness.API, e end) []harness.Bad {
	if e.status == 137 || api == harness.CRI {
		return nil
	}
	return madeUp("< 2.4.0")
}

// retryLies: the second Delete finds no task in the shim, and ends it; then the `delete`
// command answers 137. From 2.0 on CRI does not end the shim of a pod with a container's
// Delete.
func retryLies(api harness.API, e end) []harness.Bad {
	switch {
	case e.status == 137:
		return nil
	case api == harness.CRI:
		return madeUp("< 2.0.0")
	}
	return madeUp("< 2.4.0")
}

func madeUp(releases string) []harness.Bad {
	return []harness.Bad{
		{Releases: releases, By: spec.MadeUp137, May: spec.AlsoMadeUp137, Issue: "containerd#14113"},
	}
}

// forgotten: a containerd that starts and finds a shim without processes takes it for a
// leaked one (the fix of #6860), deletes its task, and tells nobody the exit that Delete
// answered (loadShim of core/runtime/v2). CRI then finds no task and writes 255, and a
// client of the task API learns nothing. Up to 1.6 both find the task, and the real code.
func forgotten(api harness.API, _ end) []harness.Bad {
	if api == harness.TaskAPI {
		return []harness.Bad{{Releases: ">= 1.7.0", By: spec.ReportedToNobody, Issue: "no issue known"}}
	}
	return []harness.Bad{{Releases: ">= 1.7.0", By: spec.CRISaysUnknown, Issue: "no issue known"}}
}

// exitUnheard: CRI takes the end of its Wait's connection for an exit with 255, and does
// not look at the TaskExit of containerd's own clean-up. From 2.0 to 2.3 there is none
// either, and the container lives on (containerd#13293).
func exitUnheard(api harness.API, _ end) []harness.Bad {
	if api == harness.TaskAPI {
		return nil
	}
	return []harness.Bad{
		{Releases: ">= 2.0.0, < 2.4.0", Issue: "containerd#13293",
			By: append(finding.MustMatches("process", "cgroup", "runc-state", "event event=missing topic=/tasks/exit"),
				spec.CRISaysUnknown...),
			May: finding.MustMatches("event event=missing topic=/tasks/delete")},
		{Releases: ">= 1.6.0", By: spec.CRISaysUnknown, Issue: "no issue known"},
	}
}

// cell is a case of the matrix, and the status that the payload must really have had.
func cell(f fault, e end, api harness.API) harness.Case {
	c := harness.Case{
		Name:     fmt.Sprintf("exit-%s-%s-%s", strings.ToLower(strings.ReplaceAll(e.name, " ", "-")), f.name, api),
		Workload: harness.Workload{API: api, Containers: []harness.Container{e.container}},
		Plan:     f.plan,
	}
	if f.bad != nil {
		c.Bad = f.bad(api, e)
	}
	return c
}

var _ = Describe("the exit code of a container", Label("exit-code"), func() {
	It("is known to CRI when the Deletes of three containers have failed, and that of one once more", spec.Quick,
		Label("cri"), func(ctx context.Context) {
			spec.Holds(ctx, harness.Case{Name: "exit-deletes-fail-and-one-again",
				Workload: harness.Workload{API: harness.CRI, Containers: []harness.Container{{Exit: 7}, {Exit: 5}, {Exit: 3}}},
				Plan:     failpoints.Plan{failpoints.Error("rpc:shim:Task.Delete:entry", 4, "injected")}})
		})
	for _, api := range []harness.API{harness.TaskAPI, harness.CRI} {
		for _, f := range faults {
			if f.apis != nil && !slices.Contains(f.apis, api) {
				continue
			}
			ends := []end{exit7, killed, f.third}
			if f.kills {
				ends = []end{stopped}
			}
			for _, e := range ends {
				status := e.status
				if f.kills {
					status = 137
				}
				labels := []any{Label(string(api))}
				twice := f.name == "delete-refused-twice" && e.name == exit7.name
				if api == harness.TaskAPI && (e.name == exit7.name || f.kills) || twice {
					labels = append(labels, spec.Quick)
				}
				It(
					fmt.Sprintf("is %d by the %s API: %s, %s", status, api, e.name, f.what),
					append(labels, func(ctx context.Context) {
						v := spec.Holds(ctx, cell(f, e, api))
						// A check that does not look would find no truth, or another.
						Expect(v.Truths).To(ConsistOf(HaveField("Status", status)))
						Expect(v.Reported).NotTo(BeEmpty(), "somebody reported it")
					})...)
			}
		}
	}
})
