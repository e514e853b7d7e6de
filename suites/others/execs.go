package others

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/suites/spec"
)

// with returns a container with two execs: one exits by itself, the other exits with
// the container.
func with(k harness.Container) harness.Workload {
	k.Execs = []harness.ExecSpec{{Exit: 3}, {Stays: true}}
	w := one(harness.TaskAPI, k)
	w.Script = []string{"create all", "mark created", "start all", "exec c0/e1", "mark running",
		"exec c0/e0", "wait c0/e0", "delete c0/e0", "end all", "wait all", "wait c0/e1", "delete c0/e1",
		"mark exited", "delete all"}
	return w
}

// withExec returns a container with an exec that starts and exits while the container
// runs.
func withExec(k harness.Container, e harness.ExecSpec) harness.Workload {
	k.Execs = []harness.ExecSpec{e}
	w := one(harness.TaskAPI, k)
	steps := []string{"exec c0/e0", "wait c0/e0", "delete c0/e0"}
	if e.Signal != "" || k.Stdin > 0 {
		steps = slices.Insert(steps, 1, "end c0/e0")
	}
	w.Script = script.WithRunning(steps...)
	return w
}

// paused returns a container that is paused and resumed.
func paused() harness.Workload {
	w := one(harness.TaskAPI, harness.Container{Exit: 7})
	w.Script = script.WithRunning("pause c0", "resume c0")
	return w
}

var _ = Describe("an exec", Label("others", "exec"), func() {
	It("is reported as itself, and its container as itself", spec.Quick, func(ctx context.Context) {
		v := spec.Holds(ctx, harness.Case{Name: "others-exec", Workload: with(harness.Container{Exit: 7})})
		Expect(v.Truths).To(ConsistOf(
			And(HaveField("Exec", ""), HaveField("Status", uint32(7))),
			And(HaveField("Exec", "e0"), HaveField("Status", uint32(3))),
			And(HaveField("Exec", "e1"), HaveField("Status", uint32(137))),
		))
		for _, exec := range []string{"e0", "e1"} {
			for _, by := range []exit.Observer{
				exit.ByWait, exit.ByDelete, exit.ByTaskStatus, exit.ByTaskExit, exit.ByShimDelete,
			} {
				Expect(v.Reported).To(ContainElement(And(HaveField("Exec", exec), HaveField("Observer", by))))
			}
		}
	})
	DescribeTable("is reported as itself after", func(ctx context.Context, name string, f failpoints.Fault) {
		spec.Holds(ctx, harness.Case{
			Name: "others-exec-" + name, Workload: with(harness.Container{Exit: 7}), Plan: failpoints.Plan{f},
		})
	},
		Entry("containerd was SIGKILLed while it ran", spec.Quick, "containerd-killed",
			failpoints.Kill("proc:containerd:running")),
		Entry("its Delete has failed", "delete-fails", failpoints.Error("rpc:shim:Task.Delete:entry", 1, "injected")),
		Entry("it could not be added", "add-fails", failpoints.Error("rpc:shim:Task.Exec:entry", 1, "injected")),
		Entry("runc could not start it", spec.Quick, "start-fails", failpoints.Error(runcExec, 1, "injected")),
	)
	It("that runc refuses after a kill of its container does not delay the exit of the container", spec.Quick,
		func(ctx context.Context) {
			v := spec.Holds(ctx, harness.Case{
				Name: "others-exec-refused-by-the-dead", Workload: withExec(harness.Container{Exit: 7}, harness.ExecSpec{Exit: 3}),
				Plan: failpoints.Plan{failpoints.PauseAt(runcExec, failpoints.Steps("kill task", "sleep 500ms", "release")...)},
			})
			for _, by := range []exit.Observer{exit.ByWait, exit.ByDelete, exit.ByTaskExit} {
				Expect(v.Reported).To(ContainElement(And(HaveField("Exec", ""), HaveField("Observer", by),
					HaveField("Status", uint32(137)))))
			}
		})
	It("whose start is slow does not delay calls about its container", spec.Quick, func(ctx context.Context) {
		v := spec.Holds(ctx, harness.Case{
			Name: "others-exec-starts-slowly", Workload: withExec(harness.Container{Exit: 7}, harness.ExecSpec{Exit: 3}),
			Plan: failpoints.Plan{failpoints.PauseAt(runcExec, failpoints.Steps("ask task", "release")...)},
		})
		Expect(v.History.AskedWhile).To(ConsistOf(And(HaveField("Of", "c0"), HaveField("As", "RUNNING"))))
	})
	// The shim retries for 15 s. It keeps running, because the client's Delete is held. If
	// containerd was killed during the first Delete, the client's second one is held.
	It("is reported after a SIGKILL of containerd at its end, and a restart 8 s later", func(ctx context.Context) {
		workload := withExec(harness.Container{Exit: 7}, harness.ExecSpec{Signal: "SIGTERM"})
		workload.CallTimeout, workload.TimeLimit = 30*time.Second, time.Minute
		const exited = 5 // events: create, start, exec-added, exec-started, exit
		v := spec.Holds(ctx, harness.Case{Name: "others-exec-ends-while-down", Workload: workload, Plan: failpoints.Plan{
			failpoints.PauseNth("rpc:containerd:Events.Forward:entry", exited,
				failpoints.Steps("kill containerd", "sleep 8s", "start containerd")...),
			{At: failpoints.MustPoint("rpc:containerd:Task.Delete:entry"),
				Do: term.Of(term.Clause{Count: 2, Action: term.Pause}), Meanwhile: failpoints.Steps("sleep 5s", "release")},
		}})
		Expect(v.Reported).To(ContainElement(And(HaveField("Exec", "e0"), HaveField("Observer", exit.ByTaskExit))))
	})
})

// The statements of runc's shim that check the results of runc exec and runc pause.
const (
	runcExec  = "stmt:shim:process.execProcess.start:if-err-e.parent.runtime.Exec-ctx-e.paren"
	runcPause = "stmt:shim:process.runningState.Pause:if-err-s.p.runtime.Pause-ctx-s.p.id-err"
)

// lines is more output than a pipe, the shim, a FIFO and its reader can hold. The last
// lines are therefore still in the pipe when their writer exits.
const lines = 7000

// writes returns a container that writes these lines and exits, and an exec that does
// the same.
func writes(api harness.API) harness.Workload {
	if api == harness.CRI {
		return execSync("execsync c0/e0", harness.Container{Exit: 7, Lines: lines, Execs: []harness.ExecSpec{{Exit: 3}}})
	}
	return withExec(harness.Container{Exit: 7, Lines: lines}, harness.ExecSpec{Exit: 3})
}

// execSync returns a pod with a container that runs during the step of an exec.
func execSync(step string, k harness.Container) harness.Workload {
	w := one(harness.CRI, k)
	w.Script = []string{"run pod", "create c0", "mark created", "start c0", "mark running", step, "end c0", "wait c0",
		"mark exited"}
	return w
}

// timedExec returns a pod with an exec that times out.
func timedExec() harness.Workload {
	return execSync("execsync c0/e0 1s", harness.Container{Exit: 7, Execs: []harness.ExecSpec{{Stays: true}}})
}

var _ = Describe("the output", Label("others", "exec", "output"), func() {
	for _, api := range apis {
		name := "others-output-" + string(api)
		It("of a container that ends at once is read to its end, by the "+string(api)+" API", spec.Quick,
			func(ctx context.Context) {
				v := spec.Holds(ctx, harness.Case{
					Name: name + "-at-once", Workload: one(api, harness.Container{Lines: lines})})
				Expect(v.History.Instances[0].Outputs).To(spec.WholeOutputs(lines))
			})
		DescribeTable("is read to its end, by the "+string(api)+" API, although",
			func(ctx context.Context, why string, f failpoints.Fault) {
				spec.Holds(ctx, harness.Case{Name: name + "-" + why, Workload: writes(api), Plan: failpoints.Plan{f}})
			},
			Entry("containerd was SIGKILLed before", "containerd-killed", failpoints.Kill("proc:containerd:running")),
			Entry("the first Delete in the shim has failed", "delete-fails",
				failpoints.Error("rpc:shim:Task.Delete:entry", 1, "injected")),
			Entry("the shim is slow to delete", "delete-slow", slow("rpc:shim:Task.Delete:entry")),
		)
	}
})

// slow holds a call for 300 ms.
func slow(at string) failpoints.Fault {
	return failpoints.Nth(at, 1, term.Delay, "300")
}

// The specs of the output above also kill containerd earlier, and let a Delete fail.
var _ = Describe("ExecSync", Label("others", "exec", "cri"), func() {
	DescribeTable("leaves no exec, and tells the true exit, after",
		func(ctx context.Context, name string, w harness.Workload, f failpoints.Fault) {
			spec.Holds(ctx, harness.Case{Name: "others-execsync-" + name, Workload: w, Plan: failpoints.Plan{f}})
		},
		Entry("containerd was SIGKILLed when the exec was added", spec.Quick, "added-killed",
			writes(harness.CRI), failpoints.PauseAt("rpc:shim:Task.Exec:exit",
				failpoints.Steps("kill containerd", "start containerd", "release")...)),
		Entry("it could not be added", "add-fails", writes(harness.CRI),
			failpoints.Error("rpc:shim:Task.Exec:entry", 1, "injected")),
		Entry("a shim that is slow to add it", "add-slow", writes(harness.CRI),
			slow("rpc:shim:Task.Exec:entry")),
		Entry("containerd was SIGKILLed while it ran", spec.Quick, "started-killed",
			// The first two start the sandbox and the container.
			writes(harness.CRI), failpoints.PauseNth("rpc:shim:Task.Start:exit", 3,
				failpoints.Steps("kill containerd", "start containerd", "release")...)),
		Entry("its client has gone away while it was deleted", "delete-cancelled",
			writes(harness.CRI), failpoints.PauseAt("rpc:containerd:Task.Delete:entry",
				failpoints.Steps("cancel call", "release")...)),
		Entry("a shim that is slow to kill it", "kill-slow", timedExec(),
			slow("rpc:shim:Task.Kill:entry")),
		Entry("its Kill has failed", "kill-fails", timedExec(),
			failpoints.Error("rpc:shim:Task.Kill:entry", 1, "injected")),
	)
})

var _ = Describe("a container that is paused", Label("others", "pause", "cgroup"), func() {
	spec.It("can be removed after a pause that runc could not do", harness.Case{
		Name: "others-pause-fails", Workload: paused(),
		Plan: failpoints.Plan{failpoints.Error(runcPause, 1, "injected")},
	}, spec.Quick)
	spec.It("goes on when it is resumed after a resume that has failed", harness.Case{
		Name: "others-pause-resume-fails", Workload: paused(),
		Plan: failpoints.Plan{failpoints.Error("rpc:shim:Task.Resume:entry", 1, "injected")},
	})
})
