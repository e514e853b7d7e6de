package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
)

func TestRulesOfWhatIsAskedWhileACallIsHeld(t *testing.T) {
	asks := func(as string, err *callerr.Failed) func(*harness.History) {
		return func(h *harness.History) {
			h.AskedWhile = append(h.AskedWhile, harness.AskedWhile{
				Of: "c0", PausedAt: "rpc:shim:Task.Start:entry", At: at(20), Took: 2 * time.Second, As: as, Err: err})
		}
	}
	late := asks("", failed("DeadlineExceeded", "context deadline exceeded"))
	down := func(h *harness.History) {
		h.Deaths = append(h.Deaths, daemon.Death{At: at(10), Asked: true, BackIn: 3 * time.Second})
	}
	const untold = "liveness container what=asked-unanswered"
	judged(t, map[string]row{
		"it is told":               {also(plain, asks("RUNNING", nil)), ""},
		"it is not there":          {also(plain, asks("", failed("NotFound", "no such task"))), ""},
		"it is not told in time":   {also(plain, late), untold},
		"it is not known in time":  {also(plain, asks("UNKNOWN", nil)), untold},
		"nobody is there to do it": {also(plain, down, late), ""},
		"the machine stood still":  {also(plain, still([2]float64{0, 3}), late), "stall"},
		"a shim stands still": {also(plain, func(h *harness.History) {
			h.Case.Plan = append(h.Case.Plan, failpoints.Once("proc:shim:running", term.Stop))
		}, late), ""},
	})
}
