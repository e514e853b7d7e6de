package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
)

// The rows are about the times and the content of reports. They are as in TestRules.
func TestRulesOfWhen(t *testing.T) {
	judged(t, map[string]row{
		"Delete says when it was asked": {func(h *harness.History) {
			plain(h)
			h.Reported[1].At = at(39)
		}, "exit exit-code by=delete status=other-time"},
		"nor is that the time of the event": {func(h *harness.History) {
			plain(h)
			h.Events[2].Exited = at(30).Add(1)
		}, "exit exit-code by=TaskExit status=other-time"},
		"a shim that was harmed may have reported no time": {func(h *harness.History) { h.Reported[1].At = at(39) }, ""},
		"nor one that was killed": {func(h *harness.History) {
			plain(h)
			kill(h, "shim", 42)
			h.Reported[1].At = at(39)
		}, ""},
		"Delete says a time of long ago": {func(h *harness.History) { h.Reported[1].At = at(-630_720_000) },
			"exit exit-code by=delete status=wrong-time"},
		"the event says a time to come": {func(h *harness.History) { h.Events[2].Exited = at(900) },
			"event event event=wrong-time topic=/tasks/exit"},
		"the event says another pid": {func(h *harness.History) { h.Events[2].PID = 99 },
			"event event event=wrong-pid topic=/tasks/exit reported=99 true=41"},
		"the event says minutes later": {func(h *harness.History) {
			h.Events[2].Exited, h.Events[2].Seen = at(90_000), at(90_000)
		},
			"event event event=wrong-time topic=/tasks/exit"},
		"Delete says minutes later": {func(h *harness.History) {
			h.Reported[1].At, h.After.At = at(90_000), at(95_000)
		},
			"exit exit-code by=delete status=wrong-time"},
		"and a shim was killed": {func(h *harness.History) {
			kill(h, "shim", 42)
			h.Reported[1].At, h.After.At = at(90_000), at(95_000)
		}, ""},
		"and a shim was held": {func(h *harness.History) {
			h.Hits[2].Held = time.Minute
			h.Reported[1].At, h.After.At = at(90_000), at(95_000)
		}, ""},
		"a killed payload's end before the signal": {func(h *harness.History) {
			killedByClient(h)
			h.Events[2].Exited = at(-100)
		},
			"event event event=wrong-time topic=/tasks/exit"},
		"and Wait's": {func(h *harness.History) {
			killedByClient(h)
			h.Reported[0].At = at(-100)
		}, "exit exit-code by=wait status=wrong-time"},
		"at the signal": {killedByClient, ""},
		"a killed payload's minutes after": {func(h *harness.History) {
			killedByClient(h)
			h.Reported[0].At, h.After.At = at(90_000), at(95_000)
		}, "exit exit-code by=wait status=wrong-time"},
		"its exit was never reported, and Wait never answered": {func(h *harness.History) {
			killedByClient(h)
			h.Instances[0].Waited = time.Time{}
			drop(h, 2)
		}, "event event event=missing topic=/tasks/exit"},
		"and nobody has killed it, but it is gone": {func(h *harness.History) {
			killedByClient(h)
			h.Instances[0].Waited, h.Signals = time.Time{}, nil
			drop(h, 2)
		}, "event event event=missing topic=/tasks/exit"},
		"and it runs on": {func(h *harness.History) {
			killedByClient(h)
			h.Instances[0].Waited, h.Signals = time.Time{}, nil
			h.Calls = callsAt("remove", 25)
			drop(h, 2)
			forgottenRuns(h)
			h.After.Inventory.Daemon.Tasks[0].Status = "RUNNING"
			h.Before.Daemon = h.After.Inventory.Daemon
		}, ""},
		"it never boots, and the default release does": {func(h *harness.History) {
			neverBoots(h)
			h.Reference = &harness.Reference{Outcome: harness.Held}
		}, "liveness containerd what=death exit=2"},
		"it never boots, nor does the default release": {func(h *harness.History) {
			neverBoots(h)
			h.Reference = &harness.Reference{Outcome: harness.Invalid}
		}, "no-boot"},
		"it never answers, and the default release does": {func(h *harness.History) {
			neverBoots(h)
			h.Deaths, h.Reference = nil, &harness.Reference{Outcome: harness.Held}
		}, "liveness containerd what=boot"},
		"it never answers, nor does the default release": {func(h *harness.History) {
			neverBoots(h)
			h.Deaths, h.Reference = nil, &harness.Reference{Outcome: harness.Invalid}
		}, "no-boot"},
		"it never answers, and nobody knows whether another does": {func(h *harness.History) {
			neverBoots(h)
			h.Deaths = nil
		}, "no-boot"},
		"it never boots, and was asked to panic": {bootFails(term.Panic), "no-boot"},
		"it never boots over a call that failed": {bootFails(term.Error), "liveness containerd what=death exit=2"},
		"and it runs on, although it was sent a signal": {func(h *harness.History) {
			killedByClient(h)
			drop(h, 2)
			forgottenRuns(h)
			h.After.Inventory.Daemon.Tasks[0].Status = "RUNNING"
			h.Before.Daemon = h.After.Inventory.Daemon
		}, ""},
		"a create without a pid": {func(h *harness.History) { h.Events[0].PID = 0 },
			"event event event=no-pid topic=/tasks/create"},
	})
}

// bootFails is a containerd that never boots, and a fault that has happened in it.
func bootFails(did term.Action) func(*harness.History) {
	return func(h *harness.History) {
		neverBoots(h)
		h.Hits = []failpoints.Hit{hit(shutdownEntry, 1, func(h *failpoints.Hit) {
			h.Who, h.PID, h.Did, h.Fault = "containerd", 9, did, 0
		})}
	}
}

// The time that goes with a made-up status is made up as well: of the death of a shim
// whose container ran on. Only a time before the start of the container is an error of
// its own.
func TestTheTimeOfAMadeUpStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		status uint32
		ms     int
		wrong  bool
	}{
		"made up, while it ran":      {255, -500, false},
		"made up, before all of it":  {255, -5000, true},
		"made up, after the look":    {255, 900_000, true},
		"the real one, while it ran": {7, -500, true},
		"the real one, at its end":   {7, 30, false},
	} {
		h := clean()
		h.Instances[0].Begun = at(-1000)
		h.Reported[0].Status, h.Reported[0].At = tc.status, at(tc.ms)
		found := ledgerOf(runOf(&h)).wrongTimes()
		if got := len(found) == 1 && found[0].Facts[fact.Status] == fact.WrongTime; got != tc.wrong {
			t.Errorf("%s: %v", name, found)
		}
	}
}
