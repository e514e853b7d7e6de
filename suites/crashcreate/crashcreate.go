// Package crashcreate has the specs about a containerd that is SIGKILLed while it
// creates or starts a task. The shim is paused in the call. In some specs it is killed,
// too. After the restart and the client's cleanup, everything must be gone and the id
// must be free. The sweep crashes containerd before and after each call to the shim.
package crashcreate

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/suites/spec"
)

// hit is the n-th call of a method during a workload's creation and start.
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

// way is a workload, and the calls of containerd to the shim that create and start it,
// in their order. CRI's Wait is left out. A goroutine of its own makes that call, so a
// crash there could come at any time.
type way struct {
	name  string // in the names of cases
	title string // in the names of specs
	harness.Workload
	hits []hit
}

// shot is a payload that runs until the client kills it. A payload that exits by itself
// while containerd is down is another test.
var shot = []harness.Container{{Signal: "SIGKILL"}}

var ways = []way{
	{"task", "a task", harness.Workload{Containers: shot, Thorough: true},
		[]hit{{"Task.Create", 1}, {"Task.Connect", 1}, {"Task.State", 1}, {"Task.Start", 1}, {"Task.State", 2}}},
	{"sandbox", "a pod's sandbox", harness.Workload{API: harness.CRI, Containers: shot},
		[]hit{{"Task.Create", 1}, {"Task.Connect", 1}, {"Task.Start", 1}, {"Task.State", 1}}},
	{"container", "a pod's container", harness.Workload{API: harness.CRI, Containers: shot},
		[]hit{{"Task.Create", 2}, {"Task.Connect", 3}, {"Task.Start", 2}, {"Task.State", 2}}},
}

// tables returns all ways to kill containerd, for each workload.
func tables() (all []spec.Table) {
	for _, w := range ways {
		all = append(all,
			spec.Table{Title: w.title + ", while the shim holds",
				Rows: w.paused("held", "kill containerd", "start containerd", "release")},
			spec.Table{Title: w.title + ", and then the shim, which holds",
				Rows: w.paused("then-shim", "kill containerd", "kill shim", "start containerd")})
		if w.name != "container" { // the way "sandbox" has this case
			// No call is in flight. containerd must find everything again. Package exitcode kills
			// it while the container runs.
			created := w.case1("created", failpoints.Kill("proc:containerd:created"))
			all = append(all, spec.Table{Title: w.title + ", when it is", Rows: []spec.Row{{Title: "created", Case: created}}})
		}
	}
	return all
}

// paused returns a case for each call. The shim is paused in the call while the steps
// run.
func (w way) paused(how string, steps ...string) []spec.Row {
	var out []spec.Row
	for _, h := range w.hits {
		for _, side := range []string{"entry", "exit"} {
			name := fmt.Sprintf("%s%d-%s-%s", strings.ToLower(strings.TrimPrefix(h.method, "Task.")), h.n, side, how)
			fault := failpoints.PauseNth("rpc:shim:"+h.method+":"+side, h.n, failpoints.Steps(steps...)...)
			out = append(out, spec.Row{Title: fmt.Sprintf("%s, %s", h, side), Case: w.case1(name, fault)})
		}
	}
	return out
}

func (w way) case1(name string, f failpoints.Fault) harness.Case {
	return harness.Case{Name: "crashcreate-" + w.name + "-" + name, Workload: w.Workload, Plan: failpoints.Plan{f}}
}

var _ = Describe("containerd that is SIGKILLed while it creates and starts", Label("crash"), func() {
	spec.DescribeTables(tables(), quick, known)
})
