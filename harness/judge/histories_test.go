package judge

import (
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// at returns a time in the tests' histories, in milliseconds since their beginning.
func at(ms int) time.Time { return time.Unix(1_000_000, 0).Add(time.Duration(ms) * time.Millisecond) }

const (
	createEntry   = "rpc:shim:Task.Create:entry"
	createExit    = "rpc:shim:Task.Create:exit"
	startExit     = "rpc:shim:Task.Start:exit"
	deleteExit    = "rpc:shim:Task.Delete:exit"
	shutdownEntry = "rpc:shim:Task.Shutdown:entry"
)

// clean is the history of a case with one fault that did no harm. Its container exits
// with 7, and every report has that status.
func clean() harness.History {
	i := harness.Instance{
		Name: "c0", ID: "c0", Spec: harness.Container{Exit: 7}, PID: 41,
		Begun: at(0), Created: at(10), Started: at(20), Waited: at(31), Deleted: at(40), Reported: true, Status: 7,
		MustTell: []exit.Observer{exit.ByWait, exit.ByDelete},
		Payload:  payload.Truth{Runs: 1, StartedAt: at(20), Exited: true, Status: 7, ExitedAt: at(30)},
	}
	eventOf := func(topic string, ms int) event.Task {
		e := event.Task{
			Namespace: "shimquake",
			Topic:     topic,
			Container: "c0",
			PID:       41,
			Seen:      at(ms),
			Sent:      at(ms),
		}
		if topic == "/tasks/exit" || topic == "/tasks/delete" {
			e.Status, e.Exited = 7, at(30)
		}
		return e
	}
	reported := func(by exit.Observer) exit.Observation {
		return exit.Observation{Container: "c0", Observer: by, Status: 7, At: at(30), PID: 41}
	}
	return harness.History{
		Case: harness.Case{Name: "x", Plan: failpoints.Plan{failpoints.Error(shutdownEntry, 1, "injected")}},
		Run: harness.Run{
			Version: "v2.4.2",
			Reached: harness.Completed,
			Began:   at(-100),
			Flushed: &harness.Flushed{Events: 4, Hits: 3, Reported: 2},
		},
		Instances: []harness.Instance{i},
		Log: harness.Log{
			Reported: []exit.Observation{reported(exit.ByWait), reported(exit.ByDelete)},
			Hits: []failpoints.Hit{
				hit(
					createEntry,
					5,
					nil,
				), hit(createExit, 9, nil), hit(shutdownEntry, 40, func(h *failpoints.Hit) { h.Fault, h.Did = 0, term.Error }),
			},
			Exits: []harness.Exit{{PID: 41, Code: 7, At: at(30)}},
			Events: []event.Task{
				eventOf("/tasks/create", 10),
				eventOf("/tasks/start", 20),
				eventOf("/tasks/exit", 31),
				eventOf("/tasks/delete", 40),
			},
		},
		Firings: []harness.Firing{{Text: "x", Count: 1, Proof: "counted"}},
		Before:  &inventory.Inventory{Daemon: &inventory.Daemon{}},
		After: &harness.Inspection{
			At:        at(50),
			Inventory: &inventory.Inventory{Daemon: &inventory.Daemon{}},
			Answer:    &harness.Answer{},
		},
		Reuse: &harness.Reuse{
			After: &harness.Inspection{At: at(60), Inventory: &inventory.Inventory{Daemon: &inventory.Daemon{}}},
		},
	}
}

// hit returns a hit of the shim with pid 42.
func hit(point string, ms int, change func(*failpoints.Hit)) failpoints.Hit {
	h := failpoints.Hit{
		Hit:   probe.Hit{Point: point, ID: "c0"},
		Who:   "shim",
		PID:   42,
		Time:  at(ms),
		Did:   term.Off,
		Fault: -1,
	}
	if change != nil {
		change(&h)
	}
	return h
}

func failed(code, said string) *callerr.Failed {
	return &callerr.Failed{Code: code, Said: said, Text: said, Answered: true}
}

func failedCalls(verb string) []harness.Call {
	return []harness.Call{{Verb: verb, Err: failed("Unknown", "x"), Unprovoked: true}}
}

// plain removes the fault from a history.
func plain(h *harness.History) {
	h.Case.Plan, h.Firings, h.Reuse = nil, nil, nil
	h.Hits[2].Fault, h.Hits[2].Did = -1, term.Off
}

// end changes the exit of the payload, and all reports of it.
func end(h *harness.History, status int) {
	h.Instances[0].Payload.Status, h.Exits[0].Code = status, uint32(status)
	for i := range h.Reported {
		h.Reported[i].Status = uint32(status)
	}
	for i := 2; i < 4; i++ {
		h.Events[i].Status = uint32(status)
	}
}

func hung() *harness.Inspection {
	return &harness.Inspection{
		Asked:  failed("DeadlineExceeded", "late"),
		Answer: &harness.Answer{Err: failed("DeadlineExceeded", "late")},
	}
}

func stopped() failpoints.Plan {
	stop, _ := term.Parse("1*stop")
	return failpoints.Plan{{At: failpoints.MustPoint("proc:containerd:running"), Do: stop}}
}

func leave(p inventory.Process) func(*harness.History) {
	return func(h *harness.History) { h.After.Inventory.Processes = []inventory.Process{p} }
}

func kill(h *harness.History, who string, pid int) {
	h.Kills = append(h.Kills, harness.Kill{Who: who, PID: pid, At: at(25)})
}

func forgottenRuns(h *harness.History) {
	p := inventory.Process{PID: 41, Start: 1, Cgroup: "/w/shimquake/c0"}
	task := inventory.Daemon{Tasks: []inventory.Task{{Namespace: "shimquake", ID: "c0", PID: 41, Status: "STOPPED"}}}
	h.Before.Processes, h.Before.Daemon = []inventory.Process{p}, &task // so that nothing of it is a leak
	h.After.Inventory.Processes, h.After.Inventory.Daemon = h.Before.Processes, &task
}

func drop(h *harness.History, n int) {
	h.Events = append(h.Events[:n:n], h.Events[n+1:]...)
	h.Flushed.Events--
}

func shimSays(status uint32) func(*harness.History) {
	return func(h *harness.History) {
		h.Hits = append(h.Hits, hit(deleteExit, 39, func(h *failpoints.Hit) { h.Status = &status }))
		h.Flushed.Hits++
	}
}

func lateExit(pid int, status uint32) func(*harness.History) {
	return func(h *harness.History) {
		h.Events = append(
			h.Events,
			event.Task{Topic: "/tasks/exit", Container: "c0", PID: pid, Status: status, Exited: at(30)},
		)
	}
}

func diesWhenLookedAt(h *harness.History) {
	h.Deaths = []daemon.Death{{PID: 9, Code: 2, At: at(45)}}
	h.After = nil
	h.Problems = problem(harness.ByLook, "containerd is down")
}

func askedTo(do term.Action, who string, code uint32) func(*harness.History) {
	return func(h *harness.History) {
		h.Hits[2].Who, h.Hits[2].PID, h.Hits[2].Did = who, 9, do
		h.Deaths = []daemon.Death{{PID: 9, Code: code, At: at(100)}}
	}
}

func killedPayload(h *harness.History) {
	kill(h, "task", 41)
	end(h, 137)
	h.Instances[0].Payload.Exited, h.Instances[0].Payload.Status = false, 0
}

func killedBeforeItBegan(h *harness.History) {
	kill(h, "task", 41)
	h.Instances[0].Payload = payload.Truth{}
	end(h, 0)
	h.Exits = nil
}

// The hits of an id's second use are not named in place of a fault that did not fire.
// killedByNobody makes SIGKILL end the payload without a sender. All reports have that
// status.
func killedByNobody(h *harness.History) {
	end(h, 137)
	h.Instances[0].Payload.Exited, h.Instances[0].Payload.Status = false, 0
}

// killedByClient makes the client kill the payload, which has run for long, by a call
// from 25 to 27. A shim reaps it.
func killedByClient(h *harness.History) {
	killedByNobody(h)
	h.Exits = nil
	h.Signals, h.Calls = sigkill(27), callsAt("kill", 25)
	h.Instances[0].Payload.ReadyAt = at(-200)
}

func sigkill(ms int) []harness.SentSignal {
	return []harness.SentSignal{{Container: "c0", Signal: 9, At: at(ms)}}
}

func callsAt(verb string, ms int) []harness.Call {
	return []harness.Call{{Verb: verb, Of: "c0", At: at(ms)}}
}

func neverBegan(h *harness.History) {
	h.Instances[0].Payload = payload.Truth{}
	h.Exits = nil
}

// reportedToNobody removes all reports of an exit that happened without a subscriber.
func reportedToNobody(h *harness.History) {
	h.Reported, h.Flushed.Reported, h.Events, h.Flushed.Events = nil, 0, h.Events[:2], 2
	h.Instances[0].Waited, h.Instances[0].Deleted = time.Time{}, time.Time{}
	h.Deaths = []daemon.Death{{At: at(29), BackIn: time.Second, Asked: true}}
}

func panics(h *harness.History, times int) {
	for n := range times {
		h.Deaths = append(h.Deaths, daemon.Death{PID: 9 + n, Code: 2, At: at(100 + n)})
	}
}

// goroutines gives containerd one more goroutine than before.
func goroutines(h *harness.History) {
	held := func(n int) []inventory.Handles {
		return []inventory.Handles{{PID: 9, Held: []inventory.Held{{Kind: fact.AGoroutine, Of: "x.y", Root: "x.y",
			Count: n}}}}
	}
	h.Before.Handles, h.After.Inventory.Handles = held(1), held(2)
}

// bystanderFails makes a bystander's start fail, and gives the result of the default
// release.
func bystanderFails(h *harness.History, reference harness.Outcome) {
	calls := []harness.Call{{Verb: "create", Err: failed("NotFound", "x"), Unprovoked: true}}
	h.Bystanders = []harness.Bystander{{Instance: harness.Instance{ID: "bystander"}, Calls: calls}}
	h.Reference = &harness.Reference{Outcome: reference}
}

// neverBoots makes containerd panic at each of its first starts.
func neverBoots(h *harness.History) {
	*h = harness.History{Case: h.Case, Run: harness.Run{Version: h.Version, Reached: harness.Prepared}}
	h.Deaths = []daemon.Death{{PID: 9, Code: 2, At: at(1)}, {PID: 9, Code: 2, At: at(2)}}
	h.Problems = problem(harness.ByBoot, "it does not boot")
}
