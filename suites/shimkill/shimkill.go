// Package shimkill has the specs about a shim that is SIGKILLed. The kill comes in each
// state of its task and in the middle of each call, while containerd runs and while it
// is down. containerd must clean up after the shim, and report the real exit status.
//
// In package crashcreate, the shim is killed together with containerd in the middle of
// Create or Start. In the sweep, the shim of one task crashes in the middle of a call.
package shimkill

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/suites/spec"
)

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

// entry is a row of a table: its title, and its case.
type entry struct {
	title string
	harness.Case
}

// table has the cases of one way to kill the shim, one for each state or call.
type table struct {
	title   string
	entries []entry
}

// tables returns all ways to kill the shim of a shape.
func (s shape) tables() []table {
	down := failpoints.Steps("kill containerd", "kill shim", "start containerd")
	all := []table{
		{"while containerd runs, when it is", s.states("")},
		{"while containerd is down, when it was", s.states("-down")},
		{"while containerd is down and it holds", s.points("down", down, "Task.Delete")},
	}
	if s.name == "task" {
		return all
	}
	return append(all, table{"while it holds",
		s.points("up", failpoints.Steps("kill shim"), "Task.Create", "Task.Start", "Task.Delete")})
}

// states returns cases that kill the shim between two calls.
func (s shape) states(how string) []entry {
	var out []entry
	for _, state := range []string{"created", "running", "exited"} {
		plan := failpoints.Plan{failpoints.Kill("proc:shim:" + state)}
		if how != "" {
			plan = append(failpoints.Plan{failpoints.Kill("proc:containerd:" + state)}, plan...)
		}
		out = append(out, entry{state, s.case1(state+how, plan)})
	}
	return out
}

// points returns cases that kill the shim within a call.
func (s shape) points(how string, steps []failpoints.Step, methods ...string) []entry {
	var out []entry
	for _, method := range methods {
		for _, side := range []string{"entry", "exit"} {
			name := fmt.Sprintf("%s-%s-%s", strings.ToLower(strings.TrimPrefix(method, "Task.")), side, how)
			plan := failpoints.Plan{failpoints.PauseAt("rpc:shim:"+method+":"+side, steps...)}
			out = append(out, entry{method + " at its " + side, s.case1(name, plan)})
		}
	}
	return out
}

func (s shape) case1(name string, plan failpoints.Plan) harness.Case {
	name = "shimkill-" + s.name + "-" + name
	return harness.Case{Name: name, Workload: s.Workload, Plan: plan, Bugs: known[name]}
}

// known are the known bugs, by the name of the case.
var known = map[string][]string{
	"shimkill-task-running-down":      {"exit-unheard-over-a-restart"},
	"shimkill-group-running-down":     {"exit-unheard-over-a-restart"},
	"shimkill-pod-seven":              {"cri-exit-of-a-dead-shim"},
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

var _ = Describe("a shim that is SIGKILLed", Label("shim"), func() {
	for _, s := range shapes {
		for _, t := range s.tables() {
			args := []any{func(ctx context.Context, c harness.Case) { spec.Holds(ctx, c) }}
			for _, e := range t.entries {
				labels := Label()
				if quick[e.Name] {
					labels = spec.Quick
				}
				args = append(args, Entry(e.title, labels, e.Case))
			}
			DescribeTable(s.title+", "+t.title, args...)
		}
	}
})

// seven is a case that kills containerd and the shim during the shim's Delete. The
// container has exited with 7 by then, and the shim has reported that.
func seven(name string, api harness.API) harness.Case {
	return harness.Case{
		Name: name, Bugs: known[name], Workload: harness.Workload{API: api, Containers: []harness.Container{{Exit: 7}}},
		Plan: failpoints.Plan{
			failpoints.PauseAt(
				"rpc:shim:Task.Delete:entry",
				failpoints.Steps("kill containerd", "kill shim", "start containerd")...),
		},
	}
}

var sevens = []harness.Case{seven("shimkill-task-seven", harness.TaskAPI), seven("shimkill-pod-seven", harness.CRI)}

var _ = Describe("a payload that has exited by itself with 7", Label("shim", "issue:14113"), func() {
	DescribeTable(
		"is known after a SIGKILL of containerd and the shim before Delete, to the client of",
		Label("crash"),
		func(ctx context.Context, c harness.Case) { spec.Holds(ctx, c) },
		Entry("the task API", sevens[0]),
		Entry("CRI", sevens[1]),
	)
})

var _ = It("lists only existing cases as known or quick", func() {
	names := map[string]bool{}
	for _, s := range shapes {
		for _, t := range s.tables() {
			for _, e := range t.entries {
				names[e.Name] = true
			}
		}
	}
	for _, c := range sevens {
		names[c.Name] = true
	}
	for name := range known {
		Expect(names).To(HaveKey(name))
	}
	for name := range quick {
		Expect(names).To(HaveKey(name))
	}
})
