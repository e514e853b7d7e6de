// Package exitcode has the specs about exit statuses. With any fault, every observer
// must report the container's real status. The specs are a matrix of faults and of the
// ways in which a container exits, for both APIs. Package plain has these exits without
// a fault. The packages umount and shutdown have the faults that come later in the
// lifecycle.
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
	"github.com/shimquake/shimquake/suites/spec"
)

// end is the way in which a container exits.
type end struct {
	name      string
	container harness.Container
	status    uint32
}

// The columns. Each fault is combined with three ends. The first is an exit with 7,
// because containerd never reports 7 by mistake. The second is a kill by the client.
// The third differs: one is 255, which containerd reports for an unknown exit.
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
	// third is the end besides exit7 and killed.
	third end
	// apis are the APIs by which the fault can be reached after the start of the
	// container. Default: both.
	apis []harness.API
	// kills is set if the fault, or containerd's cleanup after it, kills the container, so
	// that the real status is 137. Such a fault is combined only with a container that
	// runs until a signal, because an exit by itself at that time would go unnoticed.
	kills bool
	// bugs are the ids of the known bugs.
	bugs map[harness.API][]string
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
		bugs: map[harness.API][]string{harness.TaskAPI: {"exit-reported-to-nobody"},
			harness.CRI: {"cri-forgets-an-exit"}},
		plan: append(kill("proc:containerd:running"), kill("proc:task:running")...),
	},
	{
		name:  "shim-dies-running",
		what:  "the shim is SIGKILLed while the container runs",
		plan:  kill("proc:shim:running"),
		kills: true,
		bugs:  map[harness.API][]string{harness.CRI: {"containerd-13293", "cri-exit-of-a-dead-shim"}},
	},
	{
		name:  "shim-dies-exited",
		what:  "the shim is SIGKILLed when the container has exited",
		plan:  kill("proc:shim:exited"),
		third: exit0,
		bugs:  map[harness.API][]string{harness.TaskAPI: {"containerd-14113"}}, // CRI deletes an exited task at once
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
		bugs: map[harness.API][]string{harness.TaskAPI: {"containerd-14113", "exit-of-a-shut-down-shim"},
			harness.CRI: {"containerd-14113", "exit-of-a-shut-down-shim"}},
	},
	// With CRI there is no container to observe: CRI calls Wait and the first State during
	// StartContainer. If one fails, it removes the task.
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

// cell is a case of the matrix, with the real status of the payload.
func cell(f fault, e end, api harness.API) harness.Case {
	c := harness.Case{
		Name:     fmt.Sprintf("exit-%s-%s-%s", strings.ToLower(strings.ReplaceAll(e.name, " ", "-")), f.name, api),
		Workload: harness.Workload{API: api, Containers: []harness.Container{e.container}},
		Plan:     f.plan,
	}
	switch {
	case e.status == 137: // the bugs report this status
	case f.name == "delete-reply-lost" && api == harness.CRI && spec.OneShutdown(): // the shim goes on
	default:
		c.Bugs = f.bugs[api]
	}
	return c
}

var _ = Describe("the exit code of a container", Label("exit-code"), func() {
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
						// These fail if the payload recorded no exit, or another one.
						Expect(v.Truths).To(ConsistOf(HaveField("Status", status)))
						Expect(v.Reported).NotTo(BeEmpty(), "an observer reported it")
					})...)
			}
		}
	}
})
