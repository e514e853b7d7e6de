package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

func TestRulesOfWhatIsAskedWhileACallIsHeld(t *testing.T) {
	asks := func(err *oracle.Failed) func(*harness.History) {
		return func(h *harness.History) {
			h.AskedWhile = append(h.AskedWhile, harness.AskedWhile{
				Of: "c0", Held: "rpc:shim:Task.Start:entry", At: at(20), Bound: 5 * time.Second, Err: err})
		}
	}
	late := failed("DeadlineExceeded", "context deadline exceeded")
	down := func(h *harness.History) {
		h.Deaths = append(h.Deaths, daemon.Death{At: at(10), Asked: true, BackIn: 3 * time.Second})
	}
	judged(t, map[string]row{
		"it is answered":           {also(plain, asks(nil)), ""},
		"it is not there":          {also(plain, asks(failed("NotFound", "no such task"))), ""},
		"it is not answered":       {also(plain, asks(late)), "liveness container what=asked-unanswered"},
		"nobody is there to do it": {also(plain, down, asks(late)), ""},
	})
}
