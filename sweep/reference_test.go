package sweep

import (
	"context"
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/sweep/engine"
)

// Cases that fail together need the same reference run. The case that runs it yields its
// slot while it waits for leftovers. It gets a slot again although the other cases wait
// for it.
func TestCasesThatFailTogetherEnd(t *testing.T) {
	must.TakeLong(t, "runs containerd")
	const atOnce = 2
	e := engine.New(prepared(t, ""), atOnce)
	c := harness.Case{Name: "fails", Workload: harness.Workload{Settle: time.Second, // the shim ends by it
		Containers: []harness.Container{{Exit: 7, Execs: []harness.ExecSpec{{NoSuchCommand: true}}}},
		Script:     script.WithRunning("add c0/e0", "start c0/e0", "start c0/e0", "delete c0/e0")}}
	ctx, end := context.WithTimeout(t.Context(), 3*time.Minute)
	defer end()
	verdicts, err := e.Repeat(ctx, c, 3*atOnce, nil, nil)
	must.Succeed(t, err, "they wait for each other")
	for _, v := range verdicts {
		must.Equal(t, v.Outcome, harness.Violated, v)
	}
}
