package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
)

// Each row has a Wait of a script that began before the end of the container.
func TestWaiters(t *testing.T) {
	waits := func(code string, took time.Duration) func(*harness.History) {
		return func(h *harness.History) {
			h.Calls = append(h.Calls, harness.Call{
				Who: "client", Step: 6, Response: harness.Lost, Verb: "wait", Of: h.Instances[0].ID, At: at(25), Took: took,
				Err: failed(code, "late"),
			})
		}
	}
	plan := func(a term.Action) func(*harness.History) {
		return func(h *harness.History) {
			h.Case.Plan = append(h.Case.Plan, failpoints.Once("rpc:shim:Task.Wait:entry", a))
			h.Firings = append(h.Firings, harness.Firing{Count: 1})
		}
	}
	ofExec0 := func(h *harness.History) { h.Calls[len(h.Calls)-1].Of = "c0/e0" }
	const unanswered = "liveness container what=wait-unanswered"
	judged(t, map[string]row{
		"it is given up":        {waits("Canceled", 10*time.Second), unanswered},
		"its deadline passes":   {waits("DeadlineExceeded", 10*time.Second), unanswered},
		"it is answered":        {waits("NotFound", 10*time.Second), ""},
		"it was not given long": {waits("DeadlineExceeded", 5*time.Second), ""},
		"containerd was down": {also(waits("Canceled", 10*time.Second), func(h *harness.History) {
			h.Deaths = []daemon.Death{{At: at(31), Asked: true, BackIn: 10 * time.Millisecond}}
		}), ""},
		"a call is held": {also(waits("Canceled", 10*time.Second), plan(term.Hang)), ""},
		"it stood still": {also(waits("Canceled", 10*time.Second), func(h *harness.History) {
			h.Stops = append(h.Stops, harness.Stop{From: at(10), To: at(20)})
		}), ""},
		"of an exec that has ended": {also(withExec, plain, waits("DeadlineExceeded", 10*time.Second), ofExec0),
			unanswered + " of=exec"},
		"of an exec whose start was refused": {also(absentExec(func(*harness.Exec) {}),
			waits("DeadlineExceeded", 10*time.Second),
			func(h *harness.History) {
				h.Calls[0].Of, h.Calls[0].Unprovoked, h.Calls[len(h.Calls)-1].Of = "c0/e3", false, "c0/e3"
			}), unanswered + " of=exec"},
		"of nobody that is known": {also(waits("Canceled", 10*time.Second), func(h *harness.History) {
			h.Calls[len(h.Calls)-1].Of = "other"
		}), ""},
	})
}
