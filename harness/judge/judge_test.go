package judge

import (
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/wording"
)

// Each row changes the clean history in one way. It has the finding that the judge must
// return, in the form of a signature, or the problem.
func TestRules(t *testing.T) {
	judged(t, map[string]row{
		"nothing": {func(*harness.History) {}, ""},

		"a fault that did not fire": {func(h *harness.History) { h.Firings[0].Count = 0 }, "miss"},
		"a call that failed before": {func(h *harness.History) { h.Calls = failedCalls("create") }, "before"},
		"a shim that cannot create": {func(h *harness.History) { h.Hits[1].Err = "no devices" }, "before"},
		"a recorded problem": {func(h *harness.History) {
			h.Problems = problem(harness.ByStep, "x")
		}, "step"},
		"two ends of one payload":  {func(h *harness.History) { h.Exits[0].Code = 9 }, "truth"},
		"a payload that ran twice": {func(h *harness.History) { h.Instances[0].Payload.Runs = 2 }, "truth"},
		"another end without a fault": {func(h *harness.History) {
			plain(h)
			end(h, 9)
		}, "end end status=wrong want=7 true=9"},
		"success where it was to fail": {
			func(h *harness.History) { kill(h, "shim", 99); end(h, 0) }, "end end status=wrong",
		},
		"a shim that does not end when it is asked to": {func(h *harness.History) {
			h.IgnoredSIGTERM = []harness.IgnoredSIGTERM{{PID: 42, ID: "c0", Namespace: "shimquake", For: 10 * time.Second}}
		}, "liveness shim what=shutdown"},
		"an exit between two deaths": {func(h *harness.History) {
			drop(h, 2)
			h.Deaths = []daemon.Death{
				{At: at(25), Asked: true}, {At: at(45), Code: 0, Asked: true, BackIn: 5 * time.Millisecond},
			}
		}, ""},
		"another end with a fault": {func(h *harness.History) { end(h, 9) }, "end end status=wrong"},
		"killed by nobody":         {killedByNobody, "end end status=killed"},
		"killed by the client": {func(h *harness.History) {
			killedByNobody(h)
			h.Signals = sigkill(25)
		}, ""},
		"removed while it ran": {func(h *harness.History) {
			killedByNobody(h)
			h.Calls = callsAt("remove", 28)
		}, ""},
		"removed after it was reported": {func(h *harness.History) {
			killedByNobody(h)
			h.Exits = nil
			h.Calls = callsAt("remove", 35)
		}, "end end"},
		"removed after its end": {func(h *harness.History) {
			killedByNobody(h)
			h.Calls = callsAt("remove", 35)
		}, "end end"},
		"killed with its shim": {func(h *harness.History) { killedByNobody(h); kill(h, "shim", 42) }, ""},
		"killed with another's shim": {func(h *harness.History) {
			killedByNobody(h)
			kill(h, "shim", 99)
		}, "end end status=killed"},
		"its start failed": {func(h *harness.History) {
			killedByNobody(h)
			h.Instances[0].Started = time.Time{}
		}, ""},
		"started and never began": {neverBegan, "end end status=never-began"},
		"an observer that reported nothing": {func(h *harness.History) {
			plain(h)
			h.Reported, h.Flushed.Reported = h.Reported[:1], 1
		},
			"exit exit-code by=delete status=unreported"},
		"Get says another status": {func(h *harness.History) {
			h.Reported[1].Observer, h.Reported[1].Status = exit.ByTaskStatus, 0
		}, "exit exit-code by=task-status status=made-up-0"},
		"Get says another pid": {func(h *harness.History) {
			h.Reported[1].Observer, h.Reported[1].PID = exit.ByTaskStatus, 0
		},
			"exit exit-code by=task-status status=wrong-pid reported=0 true=41"},
		"an image that is gone": {func(h *harness.History) {
			h.Before.Daemon.Records = []inventory.Record{{Kind: fact.AnImage, Namespace: "shimquake", Name: "x"}}
		}, "loss metadata kind=image"},
		"a directory of containerd's that is gone": {func(h *harness.History) {
			h.Before.Files = []inventory.File{
				{Path: "/run/containerd/s", Kind: fact.ADirectory},
				{Path: "/run/containerd/s/1"},
			}
		}, "loss file kind=directory path=/run/containerd/s"},
		"it logs that it cannot go on": {func(h *harness.History) {
			h.Case.Plan, h.Firings, h.Hits, h.Flushed.Hits = nil, nil, nil, 0
			h.Logged = []harness.Logged{{Level: "fatal", Message: "x", Times: 1}}
		}, "liveness containerd what=log is=fatal"},
		"which a fault may have made it": {func(h *harness.History) {
			h.Logged = []harness.Logged{{Level: "fatal", Message: "x", Times: 1}}
		}, ""},
		"its log is flooded": {func(h *harness.History) {
			h.Logged = []harness.Logged{{Message: "x 41", Times: 1001}}
		},
			"liveness containerd what=log is=repeated"},
		"its log tells of what its client does": {func(h *harness.History) {
			h.Calls, h.Logged = make([]harness.Call, 10), []harness.Logged{{Message: "x", Times: 1001}}
		}, ""},
		"the OOM monitor that ends": {func(h *harness.History) {
			h.Logged = []harness.Logged{{Message: "cgroups: epoll wait", Times: 30965}}
		}, ""},
		"the OOM monitor that does not": {func(h *harness.History) {
			h.Logged = []harness.Logged{{Message: "cgroups: epoll wait", Times: 200_001}}
		}, "liveness containerd what=log is=repeated"},
		"List leaves out what has ended": {func(h *harness.History) {
			plain(h)
			h.Instances[0].MustTell = append(h.Instances[0].MustTell, exit.ByTaskList)
		}, "exit exit-code by=task-list status=unreported"},
		"nobody reported to a client": {reportedToNobody, "exit exit-code by=nobody status=unreported"},
		"a leak, and a step could not be done": {func(h *harness.History) {
			h.After.Inventory.FIFOs, h.Problems = []string{"/f"}, problem(harness.ByStep, "x")
		}, "leak fifo"},
		"and containerd stood still by then": {func(h *harness.History) {
			h.After.Inventory.FIFOs, h.Problems = []string{"/f"}, problem(harness.ByStep, "x")
			h.Stops = []harness.Stop{{From: at(25)}}
		}, "step"},
		"events in another namespace": {func(h *harness.History) { h.Events[2].Namespace = "moby" },
			"event event event=wrong-namespace topic=/tasks/exit"},
		"a failure that is containerd's": {func(h *harness.History) {
			h.Calls, h.Reference = failedCalls("create"), &harness.Reference{Outcome: harness.Held}
		}, "liveness container what=baseline call=create"},
		"a failure that is the machine's": {func(h *harness.History) {
			h.Calls, h.Reference = failedCalls("create"), &harness.Reference{Outcome: harness.Invalid}
		}, "before"},
		"a second use that the machine cannot": {func(h *harness.History) {
			h.Reuse = &harness.Reuse{Err: failed("Unknown", "mount")}
			h.Reference = &harness.Reference{Outcome: harness.Invalid}
		}, "inventory"},
		"a leak, and the fault did not fire": {func(h *harness.History) {
			h.Firings[0].Count, h.After.Inventory.FIFOs = 0, []string{"/f"}
		}, "leak fifo"},
		"a leak, and the harness failed": {func(h *harness.History) {
			h.After.Inventory.FIFOs, h.Problems = []string{"/f"}, problem(harness.ByHarness, "x")
		}, "harness"},
		"a restart before an exit that was never reported": {func(h *harness.History) {
			drop(h, 2)
			h.Deaths = []daemon.Death{{At: at(21), BackIn: 5 * time.Millisecond, Asked: true}}
		}, "event event event=missing topic=/tasks/exit"},
		"a killed payload's exit was never reported": {func(h *harness.History) {
			killedPayload(h)
			drop(h, 2)
			h.Instances[0].Waited = time.Time{}
		}, "event event event=missing topic=/tasks/exit"},
		"and after a fault it need not": {func(h *harness.History) {
			h.Reported, h.Flushed.Reported = h.Reported[:1], 1
		}, ""},
		"the client cannot remove it": {func(h *harness.History) { h.Removal = failed("Unknown", "busy") },
			"liveness container what=removal"},
		"containerd does not come up": {func(h *harness.History) {
			h.After = &harness.Inspection{Up: failed("Unavailable",
				"down")}
		}, "liveness process what=boot"},
		"it cannot tell what it has": {func(h *harness.History) {
			h.After = &harness.Inspection{Asked: failed("Unknown",
				"ttrpc")}
		}, "liveness containerd what=listing"},
		"it hangs": {func(h *harness.History) { h.After = hung() },
			"liveness containerd what=answer"},
		"it hangs because it was asked to": {func(h *harness.History) {
			h.After = hung()
			h.Case.Plan = stopped()
		}, "inventory"},
		"the world cannot be read": {func(h *harness.History) {
			h.After = &harness.Inspection{Asked: failed("Internal",
				"gone")}
		}, "inventory"},
		"it is slow to answer": {func(h *harness.History) {
			h.After.Answer.Err = failed("DeadlineExceeded",
				"late")
		}, "liveness containerd what=answer"},
		"it does not collect its garbage": {uncollected("DeadlineExceeded"), "liveness containerd what=collection"},
		"it does not while its disk is slow": {also(uncollected("DeadlineExceeded"), func(h *harness.History) {
			h.Case.Plan = failpoints.Plan{failpoints.Pressure("io:root:running", "4MiB/s,60MiB")}
		}), "inventory"},
		"it does not while it stands still": {also(uncollected("DeadlineExceeded"), func(h *harness.History) {
			h.Case.Plan = stopped()
		}), "inventory"},
		"a leaked shim": {leave(inventory.Process{PID: 42, Start: 1,
			Shim: &inventory.ShimArgs{ID: "c0", Namespace: "shimquake"}}), "leak shim task=none bundle=gone"},
		"a dead shim's socket, known": {func(h *harness.History) {
			kill(h, "shim", 42)
			h.After.Inventory.Sockets = []inventory.Socket{{Path: "/s/1"}}
		}, "known containerd-11292"},
		"a socket, and nobody was " +
			"killed": {func(h *harness.History) { h.After.Inventory.Sockets = []inventory.Socket{{Path: "/s/1"}} },
			"leak socket socket=silent"},
		"a residue that is not there": {func(h *harness.History) { kill(h, "shim", 42) }, "residue socket"},
		"a goroutine too many":        {goroutines, "leak handle kind=goroutine"},
		"of a result that a fault has lost": {func(h *harness.History) {
			goroutines(h)
			h.Hits[2].Who, h.Hits[2].Did = "containerd", term.Lose
		}, ""},
		"a process that nobody knows": {leave(inventory.Process{PID: 41, Cgroup: "/x/shimquake/c0"}),
			"leak process owner=none"},
		"a container that runs, forgotten": {forgottenRuns, "forgotten process task=STOPPED"},
		"a child that outlived its init": {func(h *harness.History) {
			h.Outlived = []harness.Outlived{{Container: "c0", PID: 44, Name: "payload"}}
		}, "forgotten process task=STOPPED program=payload"},
		"and its shim was killed": {func(h *harness.History) {
			h.Outlived = []harness.Outlived{{Container: "c0", PID: 44, Name: "payload"}}
			kill(h, "shim", 42)
		}, ""},
		"an exit that was never reported": {func(h *harness.History) { drop(h, 2) },
			"event event event=missing topic=/tasks/exit"},
		"a delete that was lost, known": {func(h *harness.History) { drop(h, 3) }, "known taskdelete-lost"},
		"a delete that came first": {func(h *harness.History) {
			h.Events[2], h.Events[3] = h.Events[3],
				h.Events[2]
		}, "event event event=late topic=/tasks/exit after=/tasks/delete"},
		"nobody could hear the exit": {func(h *harness.History) {
			drop(h, 2)
			h.Deaths = []daemon.Death{{At: at(29), BackIn: time.Second, Asked: true}}
		}, ""},
		"a gap in the subscription": {func(h *harness.History) {
			drop(h,
				2)
			h.Gaps = []event.Gap{{From: at(25), To: at(35)}}
		}, ""},
		"Wait says 137": {func(h *harness.History) { h.Reported[0].Status = 137 },
			"exit exit-code by=wait status=made-up-137"},
		"the event says 0": {func(h *harness.History) { h.Events[2].Status = 0 },
			"exit exit-code by=TaskExit status=made-up-0"},
		"the shim says 255": {shimSays(255), "exit exit-code by=shim-delete status=made-up-255"},
		"a restart that takes too " +
			"long": {func(h *harness.History) { h.Restart = &harness.Restart{Err: failed("Unavailable", "down")} },
			"liveness containerd what=restart"},
		"the id cannot be used " +
			"again": {func(h *harness.History) {
			h.Reuse = &harness.Reuse{Err: failed("AlreadyExists",
				"the object exists")}
		}, "liveness container what=id-reuse code=AlreadyExists"},
		"its second use leaves something": {func(h *harness.History) {
			h.Reuse.After.Inventory.FIFOs = []string{"/f"}
		},
			"leak fifo"},
		"its second use cannot be looked " +
			"at": {func(h *harness.History) {
			h.Reuse.After = &harness.Inspection{Asked: failed("Internal", "x")}
		}, "inventory"},
		"a wrong exit that comes late": {lateExit(41, 137), "exit exit-code by=TaskExit status=made-up-137"},
		"the exit of the second life":  {lateExit(61, 0), ""},
		"containerd ends by itself": {func(h *harness.History) {
			h.Deaths = []daemon.Death{{PID: 9, Code: 2,
				At: at(100)}}
		}, "liveness containerd what=death exit=2"},
		"and nobody could look": {diesWhenLookedAt, "liveness containerd what=death exit=2"},
		"it was killed by the harness": {func(h *harness.History) {
			h.Deaths = []daemon.Death{{PID: 9, Code: 137, Asked: true, Killed: true, At: at(100)}}
		}, ""},
		"it panics at SIGTERM": {func(h *harness.History) {
			h.Deaths = []daemon.Death{{PID: 9, Code: 2, Asked: true, At: at(100)}}
		}, "liveness containerd what=death exit=2 asked=true"},
		"it takes 25 s to stop": {func(h *harness.History) {
			h.Deaths = []daemon.Death{{PID: 9, Asked: true, After: 25 * time.Second, At: at(100)}}
		}, "liveness containerd what=death exit=0 asked=true"},
		"it does not stop, and is killed": {func(h *harness.History) {
			h.Deaths = []daemon.Death{{PID: 9, Code: 137, Asked: true, Overdue: true, After: 15 * time.Second, At: at(100)}}
		}, "liveness containerd what=death exit=137 asked=true status=killed"},
		"it stops at once": {func(h *harness.History) {
			h.Deaths = []daemon.Death{{PID: 9, Asked: true, After: time.Second, At: at(100)}}
		}, ""},
		"a bystander that cannot be started": {func(h *harness.History) {
			bystanderFails(h, harness.Invalid)
		}, "before"},
		"a bystander that another release starts": {func(h *harness.History) {
			bystanderFails(h, harness.Held)
		},
			"others bystander what=others-call"},
		"it panics forever": {func(h *harness.History) {
			panics(h, 910)
		}, "liveness containerd what=death exit=2"},
		"it was asked to crash": {askedTo(term.Crash, "containerd", 137), ""},
		"it was asked to panic": {askedTo(term.Panic, "containerd", 2), ""},
		"it was asked to fail, and panicked": {
			askedTo(term.Error, "containerd", 2),
			"liveness containerd what=death exit=2",
		},
		"a shim was asked to crash": {
			askedTo(term.Crash, "shim", 2),
			"liveness containerd what=death exit=2",
		},
		"the truth of a killed payload": {killedPayload, ""},
		"of one that was killed before": {killedBeforeItBegan, "exit exit-code by=wait status=made-up-0"},
		"of one that never ran": {func(h *harness.History) {
			neverBegan(h)
			h.Instances[0].Started = time.Time{}
		}, ""},
	})
}

func TestHitInsteadEndsWithTheClient(t *testing.T) {
	h := clean()
	h.Firings[0].Count, h.Done = 0, at(45)
	h.Hits = append(h.Hits, hit(shutdownEntry, 55, nil))
	if why := Judge(h, catalogued).ProblemsText(); !strings.Contains(why, "rpc:shim:Task.Shutdown x1") {
		t.Error(why)
	}
}

// Only the points of the fault's own process are listed, and a call's two points count as
// one.
func TestHitInsteadIsNearTheFault(t *testing.T) {
	h := clean()
	h.Firings[0].Count = 0
	h.Hits = append(h.Hits, hit("rpc:containerd:Task.Delete:entry", 30, nil), hit("rpc:shim:Task.Wait:exit", 30, nil))
	why := Judge(h, catalogued).ProblemsText()
	if !strings.Contains(why, "hit instead: rpc:shim:") || strings.Contains(why, "rpc:containerd:") ||
		strings.Contains(why, "Task.Wait") {
		t.Error(why)
	}
}

// Equal exits of containerd are one finding.
func TestEqualDeathsAreReportedOnce(t *testing.T) {
	h := clean()
	panics(&h, 910)
	found := Judge(h, catalogued).Violations()
	if len(found) != 1 || !strings.Contains(wording.Of(found[0]), "910 times") {
		t.Error(found)
	}
}

// uncollected makes containerd not collect its garbage on request.
func uncollected(code string) func(*harness.History) {
	return func(h *harness.History) { h.After.Inventory.Uncollected = failed(code, "late") }
}

// A history without a final inventory proves nothing.
func TestNobodyLooked(t *testing.T) {
	inv := &inventory.Inventory{Daemon: &inventory.Daemon{}}
	for name, h := range map[string]harness.History{
		"nothing":                {},
		"it says that all was":   {Run: harness.Run{Reached: harness.Completed}},
		"no look before":         {Run: harness.Run{Reached: harness.Completed}, After: &harness.Inspection{Inventory: inv}},
		"no look after":          {Run: harness.Run{Reached: harness.Completed}, Before: inv},
		"a look that saw naught": {Run: harness.Run{Reached: harness.Completed}, Before: inv, After: &harness.Inspection{}},
	} {
		if v := Judge(h, nil); v.Outcome != harness.Invalid || !v.HasProblem(harness.ByLook) {
			t.Errorf("%s: %s", name, v)
		}
	}
	whole := harness.History{Run: harness.Run{Reached: harness.Completed}, Before: inv,
		After: &harness.Inspection{Inventory: inv}}
	if v := Judge(whole, nil); v.Outcome != harness.Held {
		t.Errorf("with both: %s", v)
	}
	died := harness.History{Run: harness.Run{
		Problems: []harness.Problem{{Kind: harness.ByBoot, Text: "x"}},
	}}
	if v := Judge(died, nil); len(v.Problems) != 1 {
		t.Errorf("a run that says why it was ended: %s", v)
	}
}
