package sweep

import (
	"sync"
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
)

// Cases that fail together need the same reference run. The case that runs it yields its
// slot while it waits for leftovers. It gets a slot again although the other cases wait
// for it.
func TestCasesThatFailTogetherEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("runs containerd")
	}
	const atOnce = 2
	r, slots := prepared(t, ""), NewSlots(atOnce)
	r.Yield = slots.Yield
	c := harness.Case{Name: "fails", Workload: harness.Workload{Settle: time.Second, // the shim ends by it
		Containers: []harness.Container{{Exit: 7, Execs: []harness.ExecSpec{{NoSuchCommand: true}}}},
		Script:     script.WithRunning("add c0/e0", "start c0/e0", "start c0/e0", "delete c0/e0")}}
	verdicts := make(chan harness.Verdict, 3*atOnce)
	var all sync.WaitGroup
	for range cap(verdicts) {
		all.Go(func() { verdicts <- slots.Run(t.Context(), r, c) })
	}
	for range cap(verdicts) {
		select {
		case v := <-verdicts:
			if v.Outcome != harness.Violated {
				t.Errorf("%v", v)
			}
		case <-time.After(3 * time.Minute):
			t.Fatal("they wait for each other")
		}
	}
	all.Wait()
}
