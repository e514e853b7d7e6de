// Package others has the specs about the effects of one container's fault on other
// containers, and about unusual containers. In every suite, bystanders run beside the
// container with the fault: containers that no fault targets. The cases here exist to
// check them.
package others

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/suites/spec"
)

// apis are the two APIs of a client: containerd's own, and CRI.
var apis = []harness.API{harness.TaskAPI, harness.CRI}

// one is a workload of one container.
func one(api harness.API, k harness.Container) harness.Workload {
	return harness.Workload{API: api, Containers: []harness.Container{k}}
}

// held is how long a call of the client may hang. It is longer than the timeout of a
// call about a bystander, so that a bystander that hangs, too, is noticed.
const held = 9 * time.Second

var _ = Describe("a shim that does not answer", spec.Slow, Label("others"), func() {
	for _, api := range apis {
		for _, method := range []string{"Task.Create", "Task.Start", "Task.Kill", "Task.Delete"} {
			It(fmt.Sprintf("delays only its own container, by the %s API, in %s", api, method),
				func(ctx context.Context) {
					w := one(api, harness.Container{Signal: "SIGKILL"})
					w.CallTimeout = held
					v := spec.Holds(ctx, harness.Case{
						Name: "others-" + string(api) + "-hang-" + strings.ToLower(method[len("Task."):]), Workload: w,
						Plan: failpoints.Plan{failpoints.Once("rpc:shim:"+method+":entry", term.Hang)},
					})
					newcomers := 0
					for _, b := range v.History.Bystanders {
						if b.Newcomer {
							newcomers++
							Expect(b.Removed.Sub(b.Started)).To(BeNumerically("<", held), "it was not held")
						} else {
							Expect(b.Asked).To(BeNumerically(">", 10), "it was asked all the time")
						}
					}
					Expect(newcomers).To(Equal(1))
				})
		}
	}
})

var _ = Describe("a shim that does not report its state", spec.Slow, Label("others"), func() {
	// containerd asks the shim for its state three times: at the task's creation, in Start
	// (without a timeout), and when a bystander lists all tasks.
	It("does not delay a list for others", func(ctx context.Context) {
		w := one(harness.TaskAPI, harness.Container{Exit: 7})
		w.CallTimeout = held + 3*time.Second
		hangs := failpoints.Fault{At: failpoints.MustPoint("rpc:shim:Task.State:entry"),
			Do: term.Of(term.Clause{Count: 1, Action: term.Off}, term.Clause{Count: 2, Action: term.Hang})}
		v := spec.Holds(ctx, harness.Case{Name: "others-hang-state", Workload: w, Plan: failpoints.Plan{hangs}})
		Expect(v.History.Firings).To(ConsistOf(HaveField("Count", 2)))
	})
})

var _ = Describe("a frozen shim while containerd starts", spec.Slow, Label("others", "crash"), func() {
	// containerd gives up loading the shim, and loads the others without a delay.
	for _, api := range apis {
		spec.It("is given up without the others, by the "+string(api)+" API", harness.Case{
			Name: "others-" + string(api) + "-stands-at-load", Workload: one(api, harness.Container{Signal: "SIGTERM"}),
			Plan: failpoints.Plan{failpoints.Once("proc:shim:running", term.Stop), failpoints.Kill("proc:containerd:running")},
			Bugs: []string{"shim-not-loaded"},
		}, spec.Quick)
	}
})

// Package plain has a pod with such a payload.
var _ = Describe("a payload that ignores SIGTERM", Label("others", "exit-code"), func() {
	It("is killed after its grace period, and its exit is 137", spec.Quick, func(ctx context.Context) {
		w := one(harness.TaskAPI, harness.Container{Signal: "SIGTERM", IgnoresTerm: true})
		v := spec.Holds(ctx, harness.Case{Name: "others-ignores-term", Workload: w})
		Expect(v.Truths).To(ConsistOf(HaveField("Status", uint32(137))))
		Expect(v.Reported).To(ContainElement(HaveField("Status", uint32(137))))
	})
})

var _ = Describe("a payload that has ended before its Start returns", Label("others", "exit-code"), func() {
	for _, api := range apis {
		n := 1
		if api == harness.CRI { // the first Start is the sandbox's
			n = 2
		}
		late := failpoints.PauseNth("rpc:shim:Task.Start:exit", n, failpoints.Steps("await exit", "release")...)
		It("is reported as usual, by the "+string(api)+" API", spec.Quick, func(ctx context.Context) {
			v := spec.Holds(ctx, harness.Case{
				Name: "others-short-" + string(api), Workload: one(api, harness.Container{Exit: 7}),
				Plan: failpoints.Plan{late},
			})
			i := v.History.Instances[0]
			Expect(i.Payload.ExitedAt).To(BeTemporally("<", i.Started), "it ended first")
			Expect(v.Truths).To(ConsistOf(HaveField("Status", uint32(7))))
		})
	}
})

var _ = Describe("an id that is used again without a restart of containerd", Label("others", "cri"), func() {
	DescribeTable("works after", func(ctx context.Context, name string, f failpoints.Fault) {
		w := one(harness.CRI, harness.Container{Exit: 7})
		w.NoRestart = true
		v := spec.Holds(ctx, harness.Case{Name: "others-again-" + name, Workload: w, Plan: failpoints.Plan{f}})
		Expect(v.History.Restart).To(BeNil())
		Expect(v.History.Deaths).To(BeEmpty())
		Expect(v.History.Reuse).NotTo(BeNil())
	},
		Entry("a Delete that failed", spec.Quick, "delete", failpoints.Error("rpc:shim:Task.Delete:entry", 1, "injected")),
		Entry("a Create that failed", "create", failpoints.Error("rpc:shim:Task.Create:entry", 1, "injected")),
		Entry("a Start that failed", "start", failpoints.Error("rpc:shim:Task.Start:entry", 1, "injected")),
		Entry("a Shutdown whose reply was lost", "shutdown", failpoints.Once("rpc:shim:Task.Shutdown:entry", term.Lose)),
	)
})

// forgets is the statement at which containerd removes an exited shim from its list.
const forgets = "stmt:containerd:runtime.ShimManager.startShim:m.shims.Delete-ctx-id"

var _ = Describe("the Delete of a task", Label("others", "task"), func() {
	It("returns when its id can be used again", spec.Quick, func(ctx context.Context) {
		v := spec.Holds(ctx, harness.Case{
			Name: "others-delete-awaits", Workload: one(harness.TaskAPI, harness.Container{Exit: 7}),
			Plan: failpoints.Plan{failpoints.PauseAt(forgets, failpoints.Steps("sleep 1s", "release")...)},
		})
		Expect(v.History.Firings).To(HaveLen(1))
		released := v.History.Firings[0].At.Add(time.Second)
		Expect(v.History.Calls).To(ContainElement(And(HaveField("Verb", "delete"), HaveField("Err", BeNil()),
			WithTransform(func(c harness.Call) time.Time { return c.At.Add(c.Took) }, BeTemporally(">=", released)))))
	})
})

var _ = Describe("a shim that responds late but in time when containerd loads it", Label("others", "crash"), func() {
	late := term.Of(term.Clause{Count: 2, Action: term.Delay, Arg: "1200"})
	spec.It("is not taken for dead, and neither is another one", harness.Case{
		Name:     "others-slow-load",
		Workload: harness.Workload{Containers: []harness.Container{{Exit: 7}, {Exit: 3}}, Script: script.Restarting()},
		Plan: failpoints.Plan{
			{At: failpoints.MustPoint("stmt:containerd:runtime.loadShim:f-err-openShimLog-shimCtx-bundle-client."), Do: late}},
	}, spec.Quick)
})

var _ = Describe("a payload with children", Label("others", "cgroup"), func() {
	held, shot := harness.Container{Exit: 7}, harness.Container{Signal: "SIGKILL"}
	DescribeTable("leaves none of them when",
		func(ctx context.Context, name string, api harness.API, shared bool, end harness.Container) {
			end.Children, end.SharedPID = 2, shared
			w := one(api, end)
			if api == harness.TaskAPI {
				w.Script = script.Tasks // it runs until it is ended
			}
			spec.Holds(ctx, harness.Case{Name: "others-children-" + name, Workload: w})
		},
		Entry("it exits in a PID namespace of its own, by the task API", "task-exits", harness.TaskAPI, false, held),
		Entry("it is killed in a shared one, by the task API", spec.Quick,
			"task-shared-killed", harness.TaskAPI, true, shot),
		Entry("it is killed in a PID namespace of its own, by CRI", "cri-killed", harness.CRI, false, shot),
		Entry("it exits in a shared one, by CRI", spec.Quick, "cri-shared-exits", harness.CRI, true, held),
	)
})
