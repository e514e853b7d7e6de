// Package crashcreate holds the specs about containerd that is SIGKILLed while it creates
// or starts a task, while the shim holds the call, alone and together with the shim.
// Whatever was begun must be gone when the client has cleaned up after the restart, and
// its id must be free. A containerd that dies by itself at its own side of a call is the
// sweep's.
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
		{"while the shim holds", w.paused("held", "kill containerd", "start containerd", "release")},
		{"and then the shim, which holds", w.paused("then-shim", "kill containerd", "kill shim", "start containerd")},
		{"when it is", w.states()},
	}
}

// paused are cases with the steps taken while the shim holds a call.
func (w way) paused(how string, steps ...string) []entry {
	var out []entry
	for _, h := range w.hits {
		for _, side := range []string{"entry", "exit"} {
			name := fmt.Sprintf("%s%d-%s-%s", strings.ToLower(strings.TrimPrefix(h.method, "Task.")), h.n, side, how)
			fault := failpoints.PauseNth("rpc:shim:"+h.method+":"+side, h.n, failpoints.Steps(steps...)...)
			out = append(out, entry{fmt.Sprintf("%s, %s", h, side), w.case1(name, fault)})
		}
	}
	return out
}

// states returns the case in which no call is in flight, and yet all that was made must
// be found again. The matrix of exitcode kills containerd while the container runs.
func (w way) states() []entry {
	if w.name == "container" { // the sandbox's way has it
		return nil
	}
	return []entry{{"created", w.case1("created", failpoints.Kill("proc:containerd:created"))}}
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
