package judge

import (
	"slices"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
)

// withExec adds an exec with pid 43 to the container of the clean history. It runs from
// 21 to 24, and exits with 3. Reports 4 to 6 are about its exit. Its events are 2 to 4,
// after the container's first two.
func withExec(h *harness.History) {
	h.Instances[0].Execs = []harness.Exec{{
		ID: "e0", Want: 3, PID: 43, Begun: at(20), Added: at(21), Started: at(22), Waited: at(25), Deleted: at(26),
		Payload: payload.Truth{Runs: 1, PID: 9, StartedAt: at(22), Exited: true, Status: 3, ExitedAt: at(24)},
	}}
	for _, by := range []exit.Observer{exit.ByWait, exit.ByTaskStatus, exit.ByDelete} {
		h.Reported = append(h.Reported, exit.Observation{
			Container: "c0", Exec: "e0", Observer: by, Status: 3, At: at(24), PID: 43})
	}
	eventOf := func(topic string, ms int) event.Task {
		return event.Task{Namespace: "shimquake", Topic: topic, Container: "c0", Exec: "e0", PID: 43, Seen: at(ms)}
	}
	added, exit := eventOf(event.TopicExecAdded, 21), eventOf(event.TopicExit, 25)
	added.PID, exit.Status, exit.Exited = 0, 3, at(24)
	h.Events = append([]event.Task{h.Events[0], h.Events[1], added, eventOf(event.TopicExecStart, 22), exit},
		h.Events[2:]...)
	h.Flushed.Reported, h.Flushed.Events = len(h.Reported), len(h.Events)
}

// withHeldExec makes the exec run until the container's end, which kills it.
func withHeldExec(h *harness.History) {
	withExec(h)
	e := &h.Instances[0].Execs[0]
	e.Held, e.Want, e.Waited, e.Deleted = true, 137, at(33), at(34)
	e.Payload = payload.Truth{Runs: 1, StartedAt: at(22), ReadyAt: at(23)}
	for n := range h.Reported[2:] {
		h.Reported[2+n].Status, h.Reported[2+n].At = 137, at(30)
	}
	h.Events[4].Status, h.Events[4].Exited, h.Events[4].Seen = 137, at(30), at(31)
}

// withSignalledExec makes SIGTERM end the exec if it handles the signal. Otherwise
// SIGKILL ends it.
func withSignalledExec(handled bool, change func(*harness.History)) func(*harness.History) {
	return func(h *harness.History) {
		withExec(h)
		e, status := &h.Instances[0].Execs[0], uint32(143)
		e.Want, e.Signal, e.Signalled, e.Timeout, e.Payload.Status = status, 15, at(23), time.Second, int(status)
		if !handled {
			status = 137
			e.Payload.Exited = false
		}
		for n := range h.Reported[2:] {
			h.Reported[2+n].Status = status
		}
		h.Events[4].Status = status
		change(h)
	}
}

// lateHeld gives the exec's exit event a time a minute after the init's end.
func lateHeld(shared bool) func(*harness.History) {
	return func(h *harness.History) {
		withHeldExec(h)
		h.Instances[0].Spec.SharedPID = shared
		const late = 60_000
		for n := range h.Reported[2:] {
			h.Reported[2+n].At = at(late)
		}
		h.Events[4].Exited, h.Events[4].Seen = at(late), at(late+1)
		h.After.At = at(late + 1000)
	}
}

// An exec is judged like the init of its container. The rows have the form of TestRules.
func TestRulesOfExecs(t *testing.T) {
	with := func(change func(*harness.History)) func(*harness.History) {
		return func(h *harness.History) {
			withExec(h)
			change(h)
		}
	}
	exec := func(change func(*harness.Exec)) func(*harness.History) {
		return with(func(h *harness.History) { change(&h.Instances[0].Execs[0]) })
	}
	eventOf := func(n int, change func(*event.Task)) func(*harness.History) {
		return with(func(h *harness.History) { change(&h.Events[2+n]) })
	}
	lacks := func(n int, change func(*harness.History)) func(*harness.History) {
		return with(func(h *harness.History) {
			drop(h, 2+n)
			change(h)
		})
	}
	nothing := func(*harness.History) {}
	again := func(n int, change func(*harness.History)) func(*harness.History) {
		return func(h *harness.History) {
			h.Events = slices.Insert(h.Events, n, h.Events[n])
			h.Flushed.Events++
			change(h)
		}
	}
	judged(t, map[string]row{
		"an exec":                  {withExec, ""},
		"one without any fault":    {with(plain), ""},
		"one that is held":         {withHeldExec, ""},
		"one that its signal ends": {withSignalledExec(true, plain), ""},
		"one that another signal ends": {withSignalledExec(false, plain),
			"end end of=exec status=killed want=143 true=137"},
		"one that its signal does not end": {withSignalledExec(false, func(h *harness.History) {
			plain(h)
			h.Instances[0].Execs[0].Timeout = time.Millisecond
		}), "end end of=exec status=not-ended want=143 bound=1ms"},
		"one that is not sent its signal": {withSignalledExec(false, func(h *harness.History) {
			plain(h)
			h.Instances[0].Execs[0].Signalled = time.Time{}
		}), ""},
		"one that is killed, as a fault has kept its signal from it": {withSignalledExec(false, nothing), ""},
		"Wait says the init's": {with(func(h *harness.History) { h.Reported[2].Status = 7 }),
			"exit exit-code of=exec by=wait status=wrong reported=7 true=3"},
		"its event says 0": {eventOf(2, func(e *event.Task) { e.Status = 0 }),
			"exit exit-code of=exec by=TaskExit status=made-up-0"},
		"Delete says another pid": {with(func(h *harness.History) { h.Reported[2+2].PID = 41 }),
			"exit exit-code of=exec by=delete status=wrong-pid reported=41 true=43"},
		"Get says a time of before": {with(func(h *harness.History) { h.Reported[2+1].At = at(-600) }),
			"exit exit-code of=exec by=task-status status=wrong-time"},
		"Delete says when it was asked": {with(func(h *harness.History) {
			plain(h)
			h.Reported[2+2].At = at(26)
		}), "exit exit-code of=exec by=delete status=other-time"},
		"Delete reported nothing": {with(func(h *harness.History) {
			plain(h)
			h.Reported, h.Flushed.Reported = h.Reported[:2+2], 2+2
		}), "exit exit-code of=exec by=delete status=unreported"},
		"its shim says another": {with(func(h *harness.History) {
			status := uint32(7)
			h.Hits = append(h.Hits, hit(deleteExit, 26, func(h *failpoints.Hit) { h.ExecID, h.Status = "e0", &status }))
			h.Flushed.Hits++
		}), "exit exit-code of=exec by=shim-delete status=wrong"},
		"another end": {exec(func(e *harness.Exec) { e.Want = 4 }), "end end of=exec status=wrong want=4 true=3"},
		"killed by nobody": {exec(func(e *harness.Exec) { e.Payload.Exited = false }),
			"end end of=exec status=killed"},
		"killed with its shim": {with(func(h *harness.History) {
			kill(h, "shim", 42)
			h.Kills[0].At, h.Instances[0].Execs[0].Payload.Exited = at(23), false
			for n := range h.Reported[2:] {
				h.Reported[2+n].Status = 137
			}
			h.Events[4].Status = 137
		}), ""},
		"killed although its shim died later": {with(func(h *harness.History) {
			kill(h, "shim", 42)
			h.Kills[0].At, h.Instances[0].Execs[0].Payload.Exited = at(27), false
		}), "end end of=exec status=killed"},
		"a held one that ends by itself": {func(h *harness.History) {
			withHeldExec(h)
			h.Instances[0].Execs[0].Payload.Exited = true
		}, "end end of=exec status=wrong want=137 true=0"},
		"started and never began": {exec(func(e *harness.Exec) { e.Payload = payload.Truth{} }),
			"end end of=exec status=never-began"},
		"and its start has failed": {with(func(h *harness.History) {
			e := &h.Instances[0].Execs[0]
			*e = harness.Exec{ID: "e0", Want: 3, Begun: e.Begun, Added: e.Added}
			h.Events, h.Flushed.Events = append(h.Events[:3:3], h.Events[5:]...), h.Flushed.Events-2
			h.Reported, h.Flushed.Reported = h.Reported[:2], 2
		}), ""},
		"two ends of one exec": {with(func(h *harness.History) {
			h.Exits = append(h.Exits, harness.Exit{PID: 43, Code: 9, At: at(24)})
		}), "truth"},
		"it is known when it is deleted": {exec(func(e *harness.Exec) { e.Kept = "STOPPED" }),
			"liveness containerd of=exec what=exec-kept task=STOPPED"},
		"its add was never sent":   {lacks(0, nothing), "event event of=exec event=missing topic=/tasks/exec-added"},
		"its start was never sent": {lacks(1, nothing), "event event of=exec event=missing topic=/tasks/exec-started"},
		"its exit was never sent":  {lacks(2, nothing), "event event of=exec event=missing topic=/tasks/exit"},
		"and nobody could hear it": {lacks(2, func(h *harness.History) {
			h.Deaths = []daemon.Death{{At: at(23), BackIn: time.Second, Asked: true}}
		}), ""},
		"and its shim died": {lacks(2, func(h *harness.History) { kill(h, "shim", 42) }), ""},
		"a held one's was never sent": {func(h *harness.History) {
			withHeldExec(h)
			drop(h, 2+2)
		}, "event event of=exec event=missing topic=/tasks/exit"},
		"its exit has the container's id": {eventOf(2, func(e *event.Task) { e.Exec = "" }),
			"event event of=exec event=missing topic=/tasks/exit"},
		"and is taken for the container's": {eventOf(2, func(e *event.Task) { e.Exec = "" }),
			"event event event=repeated topic=/tasks/exit"},
		"its exit comes twice, without any fault": {with(again(4, plain)),
			"event event of=exec event=repeated topic=/tasks/exit repeat=same"},
		"its exit comes twice": {with(again(4, nothing)), ""},
		"its exit comes twice, with another status": {with(again(4, func(h *harness.History) { h.Events[5].Status = 4 })),
			"event event of=exec event=repeated topic=/tasks/exit repeat=other-status"},
		"its add comes twice, without any fault": {with(again(2, plain)),
			"event event of=exec event=repeated topic=/tasks/exec-added repeat=same"},
		"its add comes twice": {with(again(2, nothing)), ""},
		"its add and its start come twice": {with(func(h *harness.History) {
			again(3, nothing)(h)
			again(2, nothing)(h)
		}), "event event of=exec event=repeated repeat=same"},
		"its start comes again, behind its exit": {with(func(h *harness.History) {
			h.Events = slices.Insert(h.Events, 5, h.Events[3])
			h.Flushed.Events++
		}), ""},
		"its start comes twice, with another pid": {with(again(3, func(h *harness.History) { h.Events[4].PID++ })),
			"event event of=exec event=repeated topic=/tasks/exec-started repeat=other-pid"},
		"it starts after its exit": {with(func(h *harness.History) { h.Events[3], h.Events[4] = h.Events[4], h.Events[3] }),
			"event event of=exec event=late topic=/tasks/exec-started after=/tasks/exit"},
		"its start is sent again, behind its exit": {with(func(h *harness.History) {
			h.Events[3], h.Events[4] = h.Events[4], h.Events[3]
			e := h.Instances[0].Execs[0]
			h.Gaps = append(h.Gaps, event.Gap{From: e.Begun, To: e.Started.Add(time.Millisecond)})
		}), ""},
		"its exit comes after the container's": {with(func(h *harness.History) {
			h.Events[4], h.Events[5] = h.Events[5], h.Events[4]
		}), "event event of=exec event=late topic=/tasks/exit after=init-exit"},
		"its start says the init's pid": {eventOf(1, func(e *event.Task) { e.PID = 41 }),
			"event event of=exec event=wrong-pid reported=41 true=43"},
		"its exit is of long ago": {eventOf(2, func(e *event.Task) { e.Exited = at(-600) }),
			"event event of=exec event=wrong-time"},
		"it is held, and ends a minute after the container": {lateHeld(false),
			"event event of=exec event=wrong-time"},
		"and is in a shared PID namespace": {lateHeld(true), ""},
		"an exec that nobody asked for": {eventOf(1, func(e *event.Task) { e.Exec = "e9" }),
			"event event of=exec event=unasked topic=/tasks/exec-started"},
	})
}
