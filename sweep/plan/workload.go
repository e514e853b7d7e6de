package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/spelling"
)

// workload is a workload that can be swept.
type workload struct {
	name string
	harness.Workload
	// asked is set if the workload runs only when --workload names it, and not in the
	// default sweep.
	asked bool
	// contains names the workloads whose steps this one contains, separated by spaces.
	// Their known findings may show here, too.
	contains string
	// races is set if two calls of the client race, so that a run can be violated without a
	// fault.
	races bool
}

// rest is a soak time, one second longer than containerd's timeout for a cleanup
// (io.containerd.timeout.shim.cleanup).
const rest = 6 * time.Second

// podRestart restarts containerd while the first of two containers runs, after the other
// has exited.
var podRestart = []string{"run pod", "create all", "mark created", "start all", "mark running", "end c1", "wait c1",
	"restart containerd", "end c0", "wait c0", "mark exited"}

// Scripts that several workloads or a test use.
var (
	oneExec  = script.WithRunning("exec c0/e0", "wait c0/e0", "delete c0/e0")
	deleters = slices.Concat(script.Tasks[:len(script.Tasks)-1], []string{"delete all &", "delete all"})
)

// workloads has all workloads, the cheapest first. A point is swept in the first workload
// that reaches it.
var workloads = []workload{
	{name: "task", Workload: harness.Workload{Containers: []harness.Container{{Exit: 7}}}},
	{name: "deleters", contains: "task", asked: true, races: true, Workload: harness.Workload{
		CallTimeout: 3 * time.Second, Containers: []harness.Container{{Signal: "SIGTERM"}}, Script: deleters}},
	{name: "two", contains: "task", asked: true, Workload: harness.Workload{
		Containers: []harness.Container{{Exit: 3}, {Exit: 7}}}},
	{name: "grouped", contains: "task two", asked: true, Workload: harness.Workload{
		Grouped: true, Containers: []harness.Container{{Exit: 3}, {Exit: 7}}}},
	{name: "beside", contains: "task", asked: true, Workload: harness.Workload{
		Bystander: true, Containers: []harness.Container{{Exit: 7}}}},
	{name: "exec", contains: "task", asked: true, Workload: harness.Workload{
		Containers: []harness.Container{{Exit: 7, Execs: []harness.ExecSpec{{Exit: 3}, {Stays: true}}}},
		Script: []string{"create all", "mark created", "start all", "exec c0/e1", "mark running",
			"exec c0/e0", "wait c0/e0", "delete c0/e0", "end all", "wait all", "wait c0/e1", "delete c0/e1",
			"mark exited", "delete all"}}},
	{name: "exec-shared", contains: "task exec", asked: true, Workload: harness.Workload{
		Containers: []harness.Container{{Exit: 7, SharedPID: true, Execs: []harness.ExecSpec{{Stays: true}}}},
		Script: []string{"create all", "mark created", "start all", "exec c0/e0", "mark running", "end all", "wait all",
			"wait c0/e0", "delete c0/e0", "mark exited", "delete all"}}},
	{name: "exec-signal", contains: "task exec", asked: true, Workload: harness.Workload{
		Containers: []harness.Container{{Exit: 7, Execs: []harness.ExecSpec{{Signal: "SIGTERM"}}}},
		Script:     script.WithRunning("exec c0/e0", "end c0/e0", "wait c0/e0", "delete c0/e0")}},
	{name: "output", contains: "task exec", asked: true, Workload: harness.Workload{
		Containers: []harness.Container{{Exit: 7, Lines: 7000, Execs: []harness.ExecSpec{{Exit: 3}}}}, Script: oneExec}},
	{name: "terminal", contains: "task exec output", asked: true, Workload: harness.Workload{
		Containers: []harness.Container{
			{Exit: 7, TTY: true, Lines: 1500, Execs: []harness.ExecSpec{{Exit: 3}, {Signal: "SIGTERM"}}}},
		Script: script.WithRunning("exec c0/e0", "wait c0/e0", "delete c0/e0",
			"exec c0/e1", "end c0/e1", "wait c0/e1", "delete c0/e1")}},
	{name: "log", contains: "task exec output", asked: true, Workload: harness.Workload{
		Containers: []harness.Container{
			{Exit: 7, Lines: harness.LogFileLines, Log: harness.LogFile, Execs: []harness.ExecSpec{{Exit: 3}}},
			{Exit: 7, Lines: 7000, Log: harness.LogBinary, Execs: []harness.ExecSpec{{Exit: 3}}}},
		Script: script.WithRunning("exec c0/e0", "wait c0/e0", "delete c0/e0", "exec c1/e0", "wait c1/e0", "delete c1/e0")}},
	{name: "stdin", contains: "task exec output", asked: true, Workload: harness.Workload{
		Containers: []harness.Container{{Exit: 7, Stdin: 7000, Execs: []harness.ExecSpec{{Exit: 3}}}},
		Script:     script.WithRunning("exec c0/e0", "end c0/e0", "wait c0/e0", "delete c0/e0")}},
	{name: "pause", contains: "task", asked: true, Workload: harness.Workload{
		Containers: []harness.Container{{Exit: 7}}, Script: script.WithRunning("pause c0", "resume c0")}},
	{name: "oom", contains: "task", asked: true, Workload: harness.Workload{
		Containers: []harness.Container{{Exit: 7, Memory: 32, OOM: harness.OOMChild}, {Memory: 32, OOM: harness.OOMInit}}}},
	{name: "segfault", contains: "task", asked: true, Workload: harness.Workload{
		Containers: []harness.Container{{Segfault: harness.SegfaultCore}}}},
	{name: "waiters", contains: "task", asked: true, Workload: harness.Workload{
		TimeLimit: 20 * time.Second, Containers: []harness.Container{{Exit: 7}},
		Script: []string{"create all", "mark created", "start all", "wait all &", "mark running", "end all", "wait all",
			"join",
			"wait all", "mark exited", "delete all"}}},
	{name: "again", contains: "task", asked: true, Workload: harness.Workload{
		NoRestart: true, Containers: []harness.Container{{Exit: 7}},
		Script: []string{"create c0", "start c0", "end c0", "wait c0", "delete c0",
			"create c0", "mark created", "start c0", "mark running", "end c0", "wait c0", "mark exited", "delete c0"}}},
	{name: "many", contains: "restart grouped", asked: true, Workload: harness.Workload{
		Grouped: true, TimeLimit: 2 * time.Minute, Containers: slices.Repeat([]harness.Container{{Exit: 7}}, 36),
		Script: script.Restarting()}},
	{name: "restart", Workload: harness.Workload{ // the first container ends with 0
		Containers: []harness.Container{{}, {Exit: 7}}, Script: script.Restarting()}},
	{name: "rest", contains: "restart", asked: true, Workload: harness.Workload{
		Containers: []harness.Container{{Exit: 7}}, Script: script.WithRunning("restart containerd", "soak 6s")}},
	// One container, because a second one takes a fourth more CPU time in each case.
	{name: "cri", Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{{Exit: 7}}}},
	{name: "with-pod", contains: "cri stop", Workload: harness.Workload{ // the container runs until its pod is stopped
		API: harness.CRI, Containers: []harness.Container{{Signal: "SIGTERM"}},
		Script: []string{"run pod", "create c0", "mark created", "start c0", "mark running"}}},
	{name: "restart-pod", contains: "cri stop", Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{{Signal: "SIGTERM", IgnoresTerm: true}, {Exit: 7}},
		Script: podRestart}},
	{name: "stop", contains: "cri", asked: true, Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{{Signal: "SIGTERM"}}}},
	{name: "execsync", contains: "cri", asked: true, Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{{Exit: 7, Lines: 7000, Execs: []harness.ExecSpec{{Exit: 3}}}},
		Script: []string{"run pod", "create c0", "mark created", "start c0", "mark running", "execsync c0/e0", "end c0",
			"wait c0", "mark exited"}}},
	{name: "loop", contains: "cri", asked: true, Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{{Signal: "SIGKILL"}},
		Script: []string{"run pod", "inventory",
			"repeat 2 create c0; mark created; start c0; mark running; end c0; wait c0; mark exited; remove c0; inventory"}}},
	{name: "stays", contains: "cri loop", asked: true, Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{{Signal: "SIGKILL"}, {Exit: 7}},
		Script: []string{"run pod", "create c1", "start c1", "inventory",
			"repeat 2 create c0; mark created; start c0; mark running; end c0; wait c0; mark exited; remove c0; inventory",
			"end c1", "wait c1"}}},
	{name: "stops", contains: "cri stop", asked: true, Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{
			{Exit: 7}, {Signal: "SIGTERM", IgnoresTerm: true}, {Signal: "SIGKILL"}, {Signal: "SIGKILL"},
			{Signal: payload.StopSignal}, {Signal: "SIGTERM"}, {Signal: "SIGKILL"}},
		Script: []string{"run pod", "create all", "mark created", "start all", "mark running",
			"stop c1 &", "soak 500ms", "cancel c1", "end c1 &", "soak 50ms", "end c0 c2 c3 c4 c5", "join",
			"wait all but c6", "mark exited"}}},
	{name: "logs", contains: "cri", asked: true, Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{{Exit: 7, Lines: 7000}}}},
	{name: "churn", contains: "cri loop execsync restart-pod", asked: true, Workload: harness.Workload{
		API: harness.CRI, TimeLimit: 2 * time.Minute,
		Containers: []harness.Container{{Exit: 7, Execs: []harness.ExecSpec{{Exit: 3}}}},
		Script: []string{"run pod", "inventory", "create c0", "mark created", "start c0", "mark running",
			"restart containerd",
			"execsync c0/e0", "end c0", "wait c0", "mark exited", "remove c0", "inventory",
			"repeat 11 create c0; start c0; mark running; execsync c0/e0; end c0; wait c0; mark exited; remove c0; " +
				"inventory"}}},
	{name: "oom-pod", contains: "cri", asked: true, Workload: harness.Workload{API: harness.CRI,
		Containers: []harness.Container{{Exit: 7, Memory: 32, OOM: harness.OOMChild}, {Memory: 32, OOM: harness.OOMInit}}}},
	{name: "net", contains: "cri", asked: true, Workload: harness.Workload{
		API: harness.CRI, Network: harness.PodNetwork, Containers: []harness.Container{{Exit: 7}}}},
	{name: "rest-pod", contains: "cri restart-pod", asked: true, Workload: harness.Workload{
		API: harness.CRI, Containers: []harness.Container{{Exit: 7}, {Exit: 3}},
		Script: []string{"run pod", "create all", "mark created", "start c0", "mark running", "restart containerd",
			"soak " + rest.String(), "start c1", "end all", "wait all", "mark exited"}}},
	{name: "beside-restart", contains: "cri restart-pod", asked: true, Workload: harness.Workload{
		API: harness.CRI, Bystander: true, Containers: []harness.Container{{Exit: 3}, {Exit: 7}}, Script: podRestart}},
	{name: "beside-pod", contains: "cri", asked: true, Workload: harness.Workload{
		API: harness.CRI, Bystander: true, Containers: []harness.Container{{Exit: 7}}}},
}

// WorkloadNames returns the names of the workloads, the cheapest first.
func WorkloadNames() []string {
	names := make([]string, len(workloads))
	for i, w := range workloads {
		names[i] = w.name
	}
	return names
}

// DefaultWorkloads returns the names of the workloads of the default sweep.
func DefaultWorkloads() []string {
	return slices.DeleteFunc(WorkloadNames(), func(name string) bool { return workloads[indexOf(name)].asked })
}

// indexOf returns a workload's index among the workloads, the cheapest first, or -1.
func indexOf(name string) int {
	return slices.IndexFunc(workloads, func(w workload) bool { return w.name == name })
}

// WithKnownFindingsOf returns the workloads with known findings that may show in the
// named one: itself, and the workloads that it contains.
func WithKnownFindingsOf(name string) []string {
	all := []string{name}
	if name == OwnScript { // a script can contain the steps of every workload of tasks
		return append(all, slices.DeleteFunc(WorkloadNames(), func(n string) bool { return API(n) != harness.TaskAPI })...)
	}
	if i := indexOf(name); i >= 0 {
		all = append(all, strings.Fields(workloads[i].contains)...)
	}
	return all
}

// OwnScript is the name that stands for the workload of a random script.
const OwnScript = "script"

// workload returns the workload of a case.
func (s Spec) workload() (harness.Workload, error) {
	if s.Own != nil {
		return *s.Own, nil
	}
	w, err := workloadNamed(s.Workload)
	return w.Workload, err
}

func workloadNamed(name string) (workload, error) {
	if i := indexOf(name); i >= 0 {
		return workloads[i], nil
	}
	return workload{}, spelling.Unknown("workload", name, WorkloadNames())
}

// API returns the API of a workload's client, or "" for an unknown name.
func API(name string) harness.API {
	if i := indexOf(name); i >= 0 {
		return workloads[i].WithDefaults().API
	}
	return ""
}
