// Package crashcreate holds the specs about containerd that is SIGKILLed while it creates
// or starts a task: by itself at its own side of each call, by somebody else while the
// shim holds the call, alone and together with the shim. Whatever was begun must be gone
// when the client has cleaned up after the restart, and its id must be free.
package crashcreate

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

// hit is the n-th passing of a method, on the way of a workload's creation and start.
type hit struct {
	method string
	n      int
}

func (h hit) String() string {
	if h.n == 1 {
		return h.method
	}
	return fmt.Sprintf("%s no. %d", h.method, h.n)
}

// way is a workload and the calls between containerd and the shim that create and start
// it, as its timeline shows them. CRI also calls Wait meanwhile, in a goroutine of its
// own: a containerd that dies there has got anywhere with the rest, so it is not a place.
type way struct {
	name  string // in the names of cases
	title string // in those of specs
	harness.Workload
	hits []hit
}

// shot is a payload that stays until the client kills it: one that ended by itself while
// containerd is down would be another story.
var shot = []harness.Container{{Signal: "SIGKILL"}}

var ways = []way{
	{"task", "a task", harness.Workload{Containers: shot, Thorough: true},
		[]hit{{"Task.Create", 1}, {"Task.Connect", 1}, {"Task.State", 1}, {"Task.Start", 1}, {"Task.State", 2}}},
	{"sandbox", "a pod's sandbox", harness.Workload{API: harness.CRI, Containers: shot},
		[]hit{{"Task.Create", 1}, {"Task.Connect", 1}, {"Task.Start", 1}, {"Task.State", 1}}},
	{"container", "a pod's container", harness.Workload{API: harness.CRI, Containers: shot},
		[]hit{{"Task.Create", 2}, {"Task.Connect", 3}, {"Task.Start", 2}, {"Task.State", 2}}},
}

// entry is a case and what is left of its name in a table.
type entry struct {
	title string
	harness.Case
}

// table is a way to kill containerd, at each call.
type table struct {
	title   string
	entries []entry
}

func (w way) tables() []table {
	return []table{
		{
			"by itself, at",
			w.each("self", func(point string, n int) failpoints.Fault { return failpoints.Crash("rpc:containerd:"+point, n) }),
		},
		{"while the shim holds", w.paused("held", "kill containerd", "start containerd", "release")},
		{"and then the shim, which holds", w.paused("then-shim", "kill containerd", "kill shim", "start containerd")},
		// Stopped first, so that it has no time to notice: how far it gets otherwise is luck,
		// and the sweep's to try.
		{
			"after the shim, which held",
			w.paused("after-shim", "stop containerd", "kill shim", "kill containerd", "start containerd"),
		},
		{"when it is", w.states()},
	}
}

// paused are cases with the steps taken while the shim holds a call.
func (w way) paused(how string, steps ...string) []entry {
	return w.each(how, func(point string, n int) failpoints.Fault {
		return failpoints.PauseNth("rpc:shim:"+point, n, failpoints.Steps(steps...)...)
	})
}

func (w way) each(how string, fault func(point string, n int) failpoints.Fault) []entry {
	var out []entry
	for _, h := range w.hits {
		for _, side := range []string{"entry", "exit"} {
			name := fmt.Sprintf("%s%d-%s-%s", strings.ToLower(strings.TrimPrefix(h.method, "Task.")), h.n, side, how)
			out = append(out, entry{fmt.Sprintf("%s, %s", h, side), w.case1(name, fault(h.method+":"+side, h.n))})
		}
	}
	return out
}

// states are cases in which nothing is under way, and yet all that was made must be found
// again.
func (w way) states() []entry {
	var out []entry
	if w.name == "container" { // the sandbox's way has it
		return nil
	}
	for _, state := range []string{"created", "running"} {
		out = append(out, entry{state, w.case1(state, failpoints.Kill("proc:containerd:"+state))})
	}
	return out
}

func (w way) case1(name string, f failpoints.Fault) harness.Case {
	name = "crashcreate-" + w.name + "-" + name
	return harness.Case{Name: name, Workload: w.Workload, Plan: failpoints.Plan{f}, Bad: known[name]}
}

var _ = Describe("containerd that is SIGKILLed while it creates and starts", Label("crash"), func() {
	for _, w := range ways {
		for _, t := range w.tables() {
			args := []any{func(ctx context.Context, c harness.Case) { spec.Holds(ctx, c) }}
			for _, e := range t.entries {
				labels := Label()
				if quick[e.Name] {
					labels = spec.Quick
				}
				args = append(args, Entry(e.title, labels, e.Case))
			}
			if len(t.entries) > 0 {
				DescribeTable(w.title+", "+t.title, args...)
			}
		}
	}
})

var _ = It("names only cases that there are as known or quick", func() {
	names := map[string]bool{}
	for _, w := range ways {
		for _, t := range w.tables() {
			for _, e := range t.entries {
				names[e.Name] = true
			}
		}
	}
	for name := range known {
		Expect(names).To(HaveKey(name))
	}
	for name := range quick {
		Expect(names).To(HaveKey(name))
	}
})
