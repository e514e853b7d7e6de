package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// still makes the machine stand still for these times, in seconds from the beginning of
// the run.
func still(spans ...[2]float64) func(*harness.History) {
	return func(h *harness.History) {
		for _, s := range spans {
			h.Stalls = append(h.Stalls, harness.Stall{From: at(0).Add(seconds(s[0])), For: seconds(s[1] - s[0])})
		}
	}
}

// within gives each call of the client a timeout.
func within(timeout time.Duration) func(*harness.History) {
	return func(h *harness.History) { h.Case.Workload.CallTimeout = timeout }
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func TestStalls(t *testing.T) {
	leak := func(h *harness.History) {
		h.After.Inventory.Processes = append(h.After.Inventory.Processes,
			inventory.Process{PID: 77, Comm: "sleep"})
	}
	const leaked = "leak process"
	late := also(plain, takes("create", 140), takes("start", 20), takes("kill", 10), takes("delete", 4000))
	judged(t, map[string]row{
		"a leak":                       {leak, leaked},
		"a leak, and a stall":          {also(leak, still([2]float64{1, 3.1})), "stall"},
		"a leak, and a short stall":    {also(leak, still([2]float64{1, 2.9})), leaked},
		"a leak, and several stalls":   {also(leak, still([2]float64{1, 2}, [2]float64{5, 6.2})), "stall"},
		"a leak, and stalls far apart": {also(leak, still([2]float64{1, 2.5}, [2]float64{20, 21.5})), leaked},
		"a leak, a stall of 1.8 s, and a timeout of 1 s": {also(leak, still([2]float64{1, 2.8}), within(time.Second)),
			"stall"},
		"a leak, and a stall of a tenth of the timeout": {also(leak, still([2]float64{1, 1.1}), within(time.Second)),
			leaked},
		"a leak, and two of them far apart": {also(leak, still([2]float64{1, 1.2}, [2]float64{3, 3.2}),
			within(time.Second)), leaked},
		"a leak, a stall, and a long timeout": {also(leak, still([2]float64{1, 2.9}), within(time.Minute)), leaked},
		"a leak, and a stall in the grace period": {also(leak, still([2]float64{1, 1.9}), func(h *harness.History) {
			h.Case.Workload.Containers = []harness.Container{{IgnoresTerm: true}}
		}), "stall"},
		"nothing but a stall": {still([2]float64{1, 9}), ""},
		"a crash, and a stall": {func(h *harness.History) { panics(h, 1); still([2]float64{1, 9})(h) },
			"liveness containerd what=death"},
		"a call that failed, and a stall": {func(h *harness.History) {
			h.Calls = failedCalls("create")
			still([2]float64{1, 9})(h)
		}, "stall"},
		"a fault that did not fire, and a stall": {func(h *harness.History) {
			h.Firings[0].Count = 0
			still([2]float64{1, 9})(h)
		}, "miss"},
		"a slow call, and a stall": {also(late, still([2]float64{1, 9}), func(h *harness.History) {
			h.Reference = &harness.Reference{Version: "v2.4.2", Outcome: harness.Held}
		}), "stall"},
	})
}
