package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
)

// withMonitor has a container that is monitored go through all that is done to one.
func withMonitor(h *harness.History) {
	plain(h)
	h.Monitored = &harness.Monitored{ID: "monitored", Interval: time.Second, Patience: 2 * time.Second,
		Watched: []harness.Watched{
			{Done: harness.DonePause, Before: 1, PID: 1, As: "PAUSED", Shims: []int{11}},
			{Done: harness.DoneResume, Before: 1, PID: 1, As: "RUNNING", Shims: nil}, // nobody could look
			{Done: harness.DoneKill, Before: 1, PID: 2, As: "RUNNING", Shims: []int{12}, Reached: at(30)},
			{Done: harness.DoneKillMore, Before: 2, PID: 2, As: "STOPPED", Shims: []int{12}},
			{Done: harness.DoneAllow, Before: 2, PID: 3, As: "RUNNING", Shims: []int{13}, Reached: at(32)},
			{Done: harness.DoneStop, Before: 3, Shims: []int{}, Reached: at(33)},
		}}
}

func TestRulesOfTheRestartMonitor(t *testing.T) {
	with := func(n int, change func(*harness.Watched)) func(*harness.History) {
		return also(withMonitor, func(h *harness.History) { change(&h.Monitored.Watched[n]) })
	}
	const pause, kill, more, allow, stop = 0, 2, 3, 4, 5
	late := with(kill, func(w *harness.Watched) { w.Reached = time.Time{} })
	judged(t, map[string]row{
		"as it is to be": {withMonitor, ""},
		"it starts what is paused": {with(pause, func(w *harness.Watched) { w.As, w.PID = "RUNNING", 9 }),
			"liveness container what=monitored-as call=paused task=RUNNING true=PAUSED"},
		"what was paused is another": {with(pause, func(w *harness.Watched) { w.PID = 9 }),
			"liveness container what=monitored-pid call=paused"},
		"it starts nothing":   {late, "liveness container what=monitored-late call=killed"},
		"a fault was planned": {also(late, planned), ""},
		"what it has started ends": {with(kill, func(w *harness.Watched) { w.As = "STOPPED" }),
			"liveness container what=monitored-as call=killed task=STOPPED"},
		"it starts too often": {with(more, func(w *harness.Watched) { w.As, w.PID = "RUNNING", 9 }),
			"liveness container what=monitored-as call=killed-again task=RUNNING true=STOPPED"},
		"two shims": {with(allow, func(w *harness.Watched) { w.Shims = []int{13, 14} }),
			"liveness container what=monitored-shims call=allowed"},
		"no shim": {with(allow, func(w *harness.Watched) { w.Shims = []int{} }),
			"liveness container what=monitored-shims call=allowed"},
		"what is stopped comes back": {with(stop, func(w *harness.Watched) { w.As, w.PID = "RUNNING", 9 }),
			"liveness container what=monitored-as call=stopped task=RUNNING true=none"},
		"and its shim stays": {with(stop, func(w *harness.Watched) { w.Shims = []int{13} }),
			"liveness container what=monitored-shims call=stopped"},
		"it does not answer": {with(stop, func(w *harness.Watched) { w.Err = failed("Unknown", "broken") }),
			"liveness container what=monitored-as call=stopped task=none"},
	})
}
