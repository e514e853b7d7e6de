// Package plain has the cases without faults. Suites and sweeps run them first: if such a
// case does not hold, a case with a fault shows nothing.
package plain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
)

// Cases returns the cases without faults. Except for the bugs that they name, they must
// hold: a finding is a bug of the release or of the harness. They cover every API, with
// restarts, bystanders and crash loops in a running pod.
func Cases() []harness.Case { return slices.Clone(cases) }

// crashLoop returns a step that runs all containers several times in one pod, and takes
// an inventory after each round.
func crashLoop(rounds int, steps string) string {
	return fmt.Sprintf("repeat %d create all; mark created; start all; mark running; %s; mark exited; "+
		"remove all; inventory",
		rounds, steps)
}

// broken returns steps with three clients that close their connections. The first has run
// an exec, which must end. The second has written to the container's input, which must
// stay open. The third has read a part of the output, which the payload writes just
// before it exits.
func broken(c string) []string {
	steps := []string{"exec C/e0 &", "write C/e0 1750", "disconnect C/e0", "join",
		"attach C/a0", "write C/a0 1750", "disconnect C/a0", "attach C/a1", "attach C/a2", "soak 30ms",
		"write C/a2 5250", "end C", "disconnect C/a1"}
	for n := range steps {
		steps[n] = strings.Replace(steps[n], "C", c, 1)
	}
	return steps
}

// podRestart restarts containerd while the first of two containers runs, and the other
// has exited.
var podRestart = []string{"run pod", "create all", "mark created", "start all", "mark running", "end c1", "wait c1",
	"restart containerd", "end c0", "wait c0", "mark exited"}

var cases = []harness.Case{
	{Name: "plain-exit", Workload: harness.Workload{Containers: []harness.Container{{Exit: 7}}}},
	{Name: "plain-kill", Workload: harness.Workload{Containers: []harness.Container{{Signal: "SIGKILL"}}}},
	{Name: "plain-segfault", Workload: harness.Workload{Containers: []harness.Container{
		{Segfault: harness.SegfaultCore}, {Segfault: harness.SegfaultBare}}}},
	{Name: "plain-pod-segfault", Workload: harness.Workload{API: harness.CRI, Containers: []harness.Container{
		{Segfault: harness.SegfaultCore}, {Segfault: harness.SegfaultBare}}}},
	{Name: "plain-waiters", Workload: harness.Workload{
		Containers: []harness.Container{{Exit: 7}, {Signal: "SIGKILL"}},
		Script: []string{"new all", "create all &", "create all", "join", "mark created", "start all",
			"wait all &", "wait all &", "mark running", "end all", "wait all", "join", "wait all", "mark exited",
			"delete all"}}},
	{Name: "plain-group", Workload: harness.Workload{
		Grouped: true, Containers: []harness.Container{{Exit: 3}, {Signal: "SIGTERM"}}, Script: script.Tasks}},
	// The client cancels a stop and repeats it, as a restarted kubelet does. Meanwhile it
	// stops the other containers.
	{Name: "plain-pod", Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{
			{Exit: 7}, {Signal: "SIGTERM", IgnoresTerm: true}, {Signal: "SIGKILL"},
			{Signal: payload.StopSignal}, {Signal: "SIGTERM"}},
		Script: []string{"run pod", "create all", "mark created", "start all", "mark running",
			"stop c1 &", "soak 500ms", "cancel c1", "end c1 &", "soak 50ms", "end c0", "end c2 &", "end c3 &", "end c4 &",
			"join",
			"wait all", "mark exited"}}},
	// The soak of 11 s is longer than any timeout of containerd's own calls.
	{Name: "plain-exec", Bugs: []string{"containerd-9719"}, Workload: harness.Workload{
		Containers: []harness.Container{
			{Exit: 7, Execs: []harness.ExecSpec{{Exit: 3}, {Stays: true}, {Signal: payload.StopSignal}}},
			{Signal: "SIGKILL", Execs: []harness.ExecSpec{{Exit: 4}, {Signal: "SIGTERM"}}},
			{Exit: 5, SharedPID: true, Execs: []harness.ExecSpec{{Stays: true}}}},
		Script: []string{
			"create all", "mark created", "start all", "exec c0/e1 c2/e0", "mark running", "soak 11s",
			"exec c0/e0 c0/e2 c1/e0 c1/e1", "end c0/e2 c1/e1", "wait c0/e0 c0/e2 c1/e0 c1/e1",
			"reuse-pid c0/e0 c1/e1", "kill c0/e0 c1/e1 SIGKILL", "delete c0/e0", "add c0/e0",
			"delete c0/e0 c0/e2 c1/e0 c1/e1", "end all", "wait all", "wait c0/e1 c2/e0",
			"reuse-pid c0 c1", "kill c0 c1 SIGKILL", "delete c0/e1 c2/e0", "mark exited", "delete all"}}},
	{Name: "plain-pause", Workload: harness.Workload{
		Containers: []harness.Container{{Exit: 7, Execs: []harness.ExecSpec{{Exit: 3}}}},
		Script:     script.WithRunning("pause c0", "add c0/e0", "resume c0", "add c0/e0", "delete c0/e0")}},
	{Name: "plain-background-exec", Workload: harness.Workload{
		Grouped: true, CallTimeout: 2 * harness.IODrain, TimeLimit: time.Minute,
		Containers: []harness.Container{{Exit: 7, Execs: []harness.ExecSpec{{Exit: 9, LeavesChild: true}}},
			{Exit: 5, Execs: []harness.ExecSpec{{Exit: 4}}}},
		Script: script.WithRunning("exec c0/e0", "wait c0/e0", "delete c0/e0 &", // waits for harness.IODrain
			"exec c1/e0", "wait c1/e0", "delete c1/e0", "pause c1", "resume c1", "join")}},
	{Name: "plain-unread", Workload: harness.Workload{
		CallTimeout: 2 * harness.IODrain, TimeLimit: time.Minute,
		Containers: []harness.Container{{Exit: 7, Lines: harness.UnreadLines, Unread: true}}}},
	{Name: "plain-no-command", Workload: harness.Workload{
		Containers: []harness.Container{{NoSuchCommand: true},
			{Exit: 7, Execs: []harness.ExecSpec{{NoSuchCommand: true}}}},
		Script: script.WithRunning("add c1/e0", "wait c1/e0 &", "start c1/e0", "delete c1/e0")}},
	{Name: "plain-group-no-command", Workload: harness.Workload{Grouped: true, Containers: []harness.Container{
		{Exit: 7}, {NoSuchCommand: true}, {Signal: "SIGTERM"}}, Script: script.Tasks}},
	{Name: "plain-pod-no-command", Workload: harness.Workload{API: harness.CRI,
		Containers: []harness.Container{
			{Exit: 7, Execs: []harness.ExecSpec{{NoSuchCommand: true}}}, {NoSuchCommand: true}, {Signal: "SIGTERM"}},
		Script: []string{"run pod", "create all", "mark created", "start all", "mark running",
			"end c1 c2", "wait c1 c2", "restart containerd", "execsync c0/e0", "end c0", "wait c0", "mark exited"}}},
	{Name: "plain-loop-no-command", Workload: harness.Workload{API: harness.CRI,
		Containers: []harness.Container{{NoSuchCommand: true}, {Exit: 5}},
		Script: []string{"run pod", "create c1", "start c1", "inventory",
			"repeat 3 create c0; mark created; start c0; mark running; mark exited; remove c0; inventory",
			"end c1", "wait c1"}}},
	{Name: "plain-killed-paused", Workload: harness.Workload{Debug: true,
		Containers: []harness.Container{{Signal: "SIGKILL"}, {Exit: 7}}, Script: script.WithRunning("pause c0")}},
	{Name: "plain-script", Workload: harness.Workload{
		Containers: []harness.Container{
			{Exit: 7, Execs: []harness.ExecSpec{{Stays: true}, {Exit: 3}, {NoSuchCommand: true}, {Signal: "SIGTERM"}}},
			{Signal: "SIGKILL", Execs: []harness.ExecSpec{{Exit: 4}}}},
		Script: []string{
			"create all", "mark created", "start all", "start c0", "wait c0 &", "exec c0/e0 c0/e1 c0/e3", "add c0/e2",
			"wait c0/e2 &", "start c0/e2", "delete c0/e2", "wait c0/e1", "delete c0/e1", "add c0/e1", "delete c0/e1",
			"mark running", "pause c1", "add c1/e0", "resume c1", "exec c1/e0", "wait c1/e0", "delete c1/e0",
			"pause c1", "end c1", "wait c1", "end c0/e3", "wait c0/e3", "delete c0/e3",
			"restart containerd", "create c1", "start c1", "kill c1 SIGKILL &", "wait c1", "end c0", "join",
			"wait c0/e0", "delete c0/e0", "mark exited", "delete all"}}},
	// A name must stay reserved until the removal, also after a restart and after a refused
	// call. The stop and the removal of a missing container or pod must succeed.
	{Name: "plain-pod-script", Bugs: []string{"containerd-10520"}, Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{{Exit: 7}},
		Script: []string{"run pod", "run pod", "run pod", "create c0", "create c0", "create c0", "start c0", "start c0",
			"restart containerd", "create c0", "create c0", "run pod", "run pod", "end c0", "wait c0", "remove c0", "remove c0",
			"stop c0", "create c0", "stop pod", "stop pod", "start c0", "remove pod", "remove pod", "stop pod",
			"run pod", "create c0", "start c0", "end c0", "wait c0"}}},
	{Name: "plain-pod-shared", Bugs: []string{"containerd-9719"}, Workload: harness.Workload{
		API: harness.CRI, Debug: true,
		Containers: []harness.Container{{Exit: 7, SharedPID: true, Execs: []harness.ExecSpec{{Stays: true}}}},
		Script: []string{"run pod", "create c0", "mark created", "start c0", "mark running",
			"execsync c0/e0 &", "soak 11s", "end c0", "wait c0", "join", "mark exited"}}},
	{Name: "plain-oom", Workload: harness.Workload{Containers: []harness.Container{
		{Exit: 7, Memory: 32, OOM: harness.OOMChild}, {Memory: 32, OOM: harness.OOMInit}}}},
	{Name: "plain-pod-oom", Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{
			{Exit: 7, Memory: 32, OOM: harness.OOMChild}, {Memory: 32, OOM: harness.OOMInit}, {Exit: 3, Memory: 32}},
		Script: []string{"run pod", "inventory", crashLoop(2, "end all; wait all")}}},
	{Name: "plain-pod-oom-restart", Workload: harness.Workload{API: harness.CRI,
		Containers: []harness.Container{{Exit: 7, Memory: 32, OOM: harness.OOMChild}, {Exit: 3}},
		Script: []string{"run pod", "create all", "mark created", "start all", "mark running", "end c1", "wait c1",
			"oom c0", "restart containerd", "end c0", "wait c0", "mark exited"}}},
	{Name: "plain-output", Workload: harness.Workload{
		Containers: []harness.Container{{Exit: 7, Lines: 7000, Execs: []harness.ExecSpec{{Exit: 3}}}},
		Script:     script.WithRunning("exec c0/e0", "wait c0/e0", "delete c0/e0")}},
	{Name: "plain-terminal", Workload: harness.Workload{
		Containers: []harness.Container{
			{Exit: 7, TTY: true, Lines: 1500, Execs: []harness.ExecSpec{{Exit: 3}, {Signal: "SIGTERM"}}},
			{Signal: "SIGTERM", TTY: true}},
		Script: script.WithRunning("exec c0/e0 c0/e1", "end c0/e1", "wait c0/e0 c0/e1", "delete c0/e0 c0/e1")}},
	{Name: "plain-log", Workload: harness.Workload{
		Containers: []harness.Container{
			{Exit: 7, Lines: harness.LogFileLines, Log: harness.LogFile, Execs: []harness.ExecSpec{{Exit: 3}}},
			{Exit: 5, Lines: 7000, Log: harness.LogBinary, Execs: []harness.ExecSpec{{Exit: 4}}}},
		Script: script.WithRunning("exec c0/e0 c1/e0", "wait c0/e0 c1/e0", "delete c0/e0 c1/e0")}},
	{Name: "plain-stdin", Workload: harness.Workload{
		Containers: []harness.Container{{Exit: 7, Stdin: 7000, Execs: []harness.ExecSpec{{Exit: 3}}}},
		Script:     script.WithRunning("exec c0/e0", "end c0/e0", "wait c0/e0", "delete c0/e0")}},
	{Name: "plain-pod-exec", Bugs: []string{"exec-output-closed-at-its-end"}, Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{
			{Exit: 7, Lines: 7000, Execs: []harness.ExecSpec{{Exit: 3}}},
			{Signal: "SIGTERM", Execs: []harness.ExecSpec{{Stays: true}}},
			{Exit: 5, Execs: []harness.ExecSpec{{Stays: true}}},
			{Exit: 6, Execs: []harness.ExecSpec{{Stays: true}}}},
		Script: []string{"run pod", "create all", "mark created", "start all", "mark running",
			"execsync c0/e0", "execsync c1/e0 1s", "execsync c2/e0 &", "execsync c3/e0 &", "cancel c3/e0",
			"end all", "wait all", "join", "mark exited"}}},
	{Name: "plain-pod-stream", Bugs: []string{"exec-output-closed-at-its-end"}, Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{
			{Exit: 7, Lines: 7000, Execs: []harness.ExecSpec{{Exit: 3}}},
			{Exit: 5, Stdin: 7000, Execs: []harness.ExecSpec{{Exit: 4}}},
			{Exit: 6, Stdin: 7000, Execs: []harness.ExecSpec{{Exit: 9}}}},
		Script: slices.Concat([]string{"run pod", "create all", "mark created", "start all", "mark running", "exec c0/e0",
			"exec c1/e0 &", "write c1/e0 1750", "soak 30ms", "write c1/e0 5250", "close c1/e0", "join",
			"attach c1/a0", "write c1/a0 1750", "soak 30ms", "write c1/a0 5250", "close c1/a0"},
			broken("c2"), []string{"end c0", "wait all", "mark exited"})}},
	{Name: "plain-pod-stream-restart", Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{
			{Exit: 6, Stdin: 7000, Execs: []harness.ExecSpec{{Exit: 9}}}},
		Script: slices.Concat([]string{"run pod", "create c0", "mark created", "start c0", "mark running",
			"restart containerd"}, broken("c0"), []string{"wait c0", "mark exited"})}},
	// It has one container, because its log is read right after its exit.
	{Name: "plain-pod-output", Bugs: []string{"exec-output-closed-at-its-end"}, Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{{Exit: 7, Lines: 7000, Execs: []harness.ExecSpec{{Exit: 3}}}},
		Script: []string{"run pod", "create c0", "mark created", "start c0", "mark running", "execsync c0/e0", "end c0",
			"wait c0", "mark exited"}}},
	{Name: "plain-restart", Workload: harness.Workload{
		Containers: []harness.Container{{Exit: 3}, {Exit: 7}}, Script: script.Restarting()}},
	{Name: "plain-pod-restart", Workload: harness.Workload{
		API: harness.CRI, Bystander: true, Containers: []harness.Container{
			{Exit: 3, TTY: true, Lines: 700}, {Exit: 7}}, Script: podRestart}},
	{Name: "plain-net-restart", Bugs: []string{"containerd-7843"}, Workload: harness.Workload{
		API: harness.CRI, Network: harness.PodNetwork, Containers: []harness.Container{{Exit: 7}},
		Script: []string{"run pod", "create c0", "mark created", "start c0", "mark running", "restart containerd",
			"end c0", "wait c0", "mark exited"}}},
	{Name: "plain-churn", Workload: harness.Workload{
		API: harness.CRI, TimeLimit: 2 * time.Minute,
		Containers: []harness.Container{{Exit: 7, Execs: []harness.ExecSpec{{Exit: 3}}}, {Exit: 5}, {Exit: 3}},
		Script: []string{"run pod", "inventory", "create all", "mark created", "start all", "mark running", "end c1 c2",
			"wait c1 c2", "restart containerd", "execsync c0/e0", "end c0", "wait c0", "mark exited", "remove all", "inventory",
			"listen", // more than the 100 events that containerd buffers for it follow
			crashLoop(9, "execsync c0/e0; end all; wait all")}}},
	{Name: "plain-with-pod", Workload: harness.Workload{ // c1 runs until its pod is stopped
		API: harness.CRI, Containers: []harness.Container{{Exit: 7}, {Signal: "SIGKILL"}},
		Script: []string{"run pod", "create all", "mark created", "start all", "mark running", "end c0", "wait c0",
			"stop pod", "mark exited"}}},
	{Name: "plain-reuse", Workload: harness.Workload{
		Thorough: true, NoRestart: true, Containers: []harness.Container{{Exit: 7}}}},
	{Name: "plain-many", Workload: harness.Workload{
		Grouped: true, TimeLimit: 2 * time.Minute, Containers: slices.Repeat([]harness.Container{{Exit: 7}}, 36),
		Script: script.Restarting()}},
	{Name: "plain-loop", Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{{Exit: 7}, {Signal: "SIGKILL"}, {Exit: 5}},
		Script: []string{"run pod", "create c2", "start c2", "inventory",
			"repeat 2 create c0 c1; mark created; start c0 c1; mark running; end c1; wait c0 c1; mark exited; " +
				"remove c0 c1; inventory", "end c2", "wait c2"}}},
	{Name: "plain-beside", Workload: harness.Workload{Bystander: true, Containers: []harness.Container{{Exit: 7}}}},
	{Name: "plain-again", Workload: harness.Workload{
		NoRestart: true, Containers: []harness.Container{{Exit: 7}},
		Script: []string{"create c0", "start c0", "end c0", "wait c0", "delete c0",
			"create c0", "start c0", "mark running", "end c0", "wait c0", "mark exited", "delete c0"}}},
	{Name: "plain-rest", Workload: harness.Workload{
		Containers: []harness.Container{{Exit: 7}}, Script: script.WithRunning("restart containerd", "soak 6s")}},
	{Name: "plain-pod-rest", Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{{Exit: 7}, {Exit: 3, TTY: true, Lines: 50}},
		Script: []string{"run pod", "create all", "mark created", "start c0", "mark running", "restart containerd",
			"soak 6s", "start c1", "end all", "wait all", "mark exited"}}},
	{Name: "plain-pod-beside", Workload: harness.Workload{
		API: harness.CRI, Bystander: true, Containers: []harness.Container{{Signal: "SIGTERM"}}}},
}
