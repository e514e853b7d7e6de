// Package shimkill has the specs about a shim that is SIGKILLed. The kill comes in each
// state of its task and in the middle of each call, while containerd runs and while it
// is down. containerd must clean up after the shim, and report the real exit status.
//
// In package crashcreate, the shim is killed together with containerd in the middle of
// Create or Start. In the sweep, the shim of one task crashes in the middle of a call.
package shimkill

import (
	_ "embed" // specs
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/suites/spec"
)

//go:embed shimkill.yaml
var specs string

var _ = spec.File("suites/shimkill/shimkill.yaml", specs, nil)

// shape is a workload whose shim is killed.
type shape struct {
	name  string // in the names of cases
	title string // in the names of specs
	harness.Workload
}

// shot is a container that runs until it is killed. If it could exit by itself at the
// same time, the real status would be unknown.
var shot = harness.Container{Signal: "SIGKILL"}

var shapes = []shape{
	{"task", "the shim of a task", harness.Workload{Containers: []harness.Container{shot}}},
	{"group", "a shim with two tasks", harness.Workload{Grouped: true, Containers: []harness.Container{shot, shot}}},
	{
		"pod2",
		"the shim of a pod with two containers",
		harness.Workload{API: harness.CRI, Containers: []harness.Container{shot, shot}},
	},
}

// tables returns all ways to kill the shim, for each shape.
func tables() (all []spec.Table) {
	down := failpoints.Steps("kill containerd", "kill shim", "start containerd")
	for _, s := range shapes {
		all = append(all,
			spec.Table{Title: s.title + ", while containerd runs, when it is", Rows: s.states("")},
			spec.Table{Title: s.title + ", while containerd is down, when it was", Rows: s.states("-down")},
			spec.Table{Title: s.title + ", while containerd is down and it holds", Rows: s.points("down", down, "Task.Delete")})
		if s.name != "task" {
			all = append(all, spec.Table{Title: s.title + ", while it holds",
				Rows: s.points("up", failpoints.Steps("kill shim"), "Task.Create", "Task.Start", "Task.Delete")})
		}
	}
	return all
}

// states returns cases that kill the shim between two calls.
func (s shape) states(how string) []spec.Row {
	var out []spec.Row
	for _, state := range []string{"created", "running", "exited"} {
		plan := failpoints.Plan{failpoints.Kill("proc:shim:" + state)}
		if how != "" {
			plan = append(failpoints.Plan{failpoints.Kill("proc:containerd:" + state)}, plan...)
		}
		out = append(out, spec.Row{Title: state, Case: s.case1(state+how, plan)})
	}
	return out
}

// points returns cases that kill the shim within a call.
func (s shape) points(how string, steps []failpoints.Step, methods ...string) []spec.Row {
	var out []spec.Row
	for _, method := range methods {
		for _, side := range []string{"entry", "exit"} {
			name := fmt.Sprintf("%s-%s-%s", strings.ToLower(strings.TrimPrefix(method, "Task.")), side, how)
			plan := failpoints.Plan{failpoints.PauseAt("rpc:shim:"+method+":"+side, steps...)}
			out = append(out, spec.Row{Title: method + " at its " + side, Case: s.case1(name, plan)})
		}
	}
	return out
}

func (s shape) case1(name string, plan failpoints.Plan) harness.Case {
	return harness.Case{Name: "shimkill-" + s.name + "-" + name, Workload: s.Workload, Plan: plan}
}

// known are the known bugs, by the name of the case.
var known = map[string][]string{
	"shimkill-task-running-down":      {"exit-unheard-over-a-restart"},
	"shimkill-group-running-down":     {"exit-unheard-over-a-restart"},
	"shimkill-pod2-running":           {"containerd-13293", "cri-exit-of-a-dead-shim"},
	"shimkill-pod2-running-down":      {"cri-exit-of-a-dead-shim"},
	"shimkill-pod2-delete-entry-up":   {"containerd-13293", "cri-exit-of-a-dead-shim"},
	"shimkill-pod2-delete-exit-up":    {"containerd-13293", "cri-exit-of-a-dead-shim"},
	"shimkill-pod2-delete-entry-down": {"cri-exit-of-a-dead-shim"},
	"shimkill-pod2-delete-exit-down":  {"cri-exit-of-a-dead-shim"},
}

// quick are the cases that also run in `make suites SHORT=1`.
var quick = map[string]bool{
	"shimkill-task-created": true, "shimkill-task-running": true, "shimkill-group-running": true,
	"shimkill-pod2-exited":          true,
	"shimkill-group-create-exit-up": true, "shimkill-task-delete-entry-down": true, "shimkill-task-running-down": true,
}

var _ = Describe("a shim that is SIGKILLed", Label("shim"), func() { spec.DescribeTables(tables(), quick, known) })
