package judge

import (
	"slices"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
)

// saidAgain adds a response of CRI after CRI reported the exit of the container.
func saidAgain(change func(*criview.Status)) func(*harness.History) {
	return func(h *harness.History) {
		again := h.CRI.Statuses[1]
		again.Asked, again.Seen = at(38), at(39)
		change(&again)
		h.CRI.Statuses = append(h.CRI.Statuses, again)
	}
}

// madeAt adds a response of CRI with the creation time of the running sandbox.
func madeAt(all ...time.Time) func(*harness.History) {
	return func(h *harness.History) {
		for _, at := range all {
			h.CRI.Sandboxes = append(h.CRI.Sandboxes, harness.SandboxSeen{ID: "pod", State: criview.Ready, Created: at})
		}
	}
}

// restarts adds a restart of containerd that the workload asks for.
func restarts(h *harness.History) {
	h.Deaths = append(h.Deaths, daemon.Death{At: at(10), BackIn: time.Millisecond, Asked: true})
}

// tried adds CRI's response to the use of a name.
func tried(object, said string) func(*harness.History) {
	return func(h *harness.History) {
		h.CRI.Names = append(h.CRI.Names, harness.CRIName{Object: object, Err: failed("Unknown", said)})
	}
}

// stopsAt makes the container ignore SIGTERM. Its end is reported this long after the
// request to stop it.
func stopsAt(ms int) func(*harness.History) {
	return func(h *harness.History) {
		killedByNobody(h)
		h.Exits, h.Events[2].Seen = nil, at(30+ms)
		h.Instances[0].Spec = harness.Container{Signal: "SIGTERM", IgnoresTerm: true}
		h.Instances[0].Waited = at(31 + ms)
		h.Calls = append(h.Calls, harness.Call{Verb: "StopContainer", Of: "c0", At: at(30)})
		h.CRI.Statuses[1].ExitCode, h.CRI.Events[4].ExitCode = 137, 137
		h.Reported = nil
		h.Flushed.Reported = 0
		h.Instances[0].MustTell = nil
	}
}

// stopsIn makes the container end by SIGTERM, this long after the request to stop it.
func stopsIn(ms int) func(*harness.History) {
	return func(h *harness.History) {
		stopsAt(ms)(h)
		h.Exits = []harness.Exit{{}}
		end(h, 143)
		h.Instances[0].Spec.IgnoresTerm = false
		h.Instances[0].Payload.Exited, h.Instances[0].Payload.ExitedAt = true, at(30+ms)
		h.CRI.Statuses[1].ExitCode, h.CRI.Statuses[1].Finished, h.CRI.Events[4].ExitCode = 143, at(30+ms), 143
		h.Events[2].Exited, h.Events[3].Exited = at(30+ms), at(30+ms)
	}
}

// kills makes containerd send signals, this long after the request to stop the container.
func kills(all ...int) func(*harness.History) {
	return func(h *harness.History) {
		for _, ms := range all {
			h.Hits = append(h.Hits, hit("rpc:containerd:Task.Kill:entry", 30+ms, nil))
		}
	}
}

const noSuchImage = `failed to resolve image "shimquake-absent": not found`

// taken adds CRI's response to the use of an existing container's name.
func taken(said string) func(*harness.History) {
	return func(h *harness.History) {
		tried(fact.AContainer, said)(h)
		h.CRI.Names[0].Taken, h.CRI.Names[0].At = true, at(36)
	}
}

// listed adds a list of CRI with a state.
func listed(object, id, state string) func(*harness.History) {
	return func(h *harness.History) {
		h.CRI.States = []harness.CRIState{{Object: object, ID: id, State: state, At: at(36)}}
	}
}

// stopSucceeds adds a successful StopContainer.
func stopSucceeds(ms int) func(*harness.History) {
	return func(h *harness.History) { h.CRI.Done = append(h.CRI.Done, done("StopContainer", "c0", ms)) }
}

// runsOnAfter makes CRI report a container as running after its stop succeeded.
func runsOnAfter(stops func(*harness.History)) func(*harness.History) {
	return also(stops, stopSucceeds(33), func(h *harness.History) { h.CRI.Statuses[0].Asked = at(34) })
}

// restartsAt restarts containerd.
func restartsAt(at time.Time) func(*harness.History) {
	return func(h *harness.History) {
		h.Deaths = append(h.Deaths, daemon.Death{At: at, BackIn: time.Millisecond, Asked: true})
	}
}

// listsStopped adds a list of CRI with the stopped sandbox.
func listsStopped(state string) func(*harness.History) {
	return also(listed(fact.ASandbox, "pod", state), func(h *harness.History) { h.CRI.States[0].Stopped = true })
}

func TestCRIKeepsItsWord(t *testing.T) {
	const reserved = `failed to reserve sandbox name "pod": name "pod" is reserved for "1"`
	for name, tc := range map[string]struct {
		change func(*harness.History)
		want   string
	}{
		"it says the same again": {saidAgain(func(*criview.Status) {}), ""},
		"an end that is made up anew": {saidAgain(func(s *criview.Status) { s.Finished = s.Finished.Add(1) }),
			"status cri-status object=container field=finished-at is=changed"},
		"a begin that is made up anew": {also(downFor(23, 28), func(h *harness.History) {
			h.CRI.Statuses[1].Started = at(28)
		}), "status cri-status object=container field=started-at is=changed"},
		"another exit code": {saidAgain(func(s *criview.Status) { s.ExitCode = 255 }),
			"status cri-status object=container field=exit-code is=changed reported=255 true=7"},
		"another reason": {saidAgain(func(s *criview.Status) { s.Reason = "Unknown" }),
			"status cri-status object=container field=reason is=changed"},
		"it runs again": {saidAgain(func(s *criview.Status) { s.State = criview.Running }),
			"status cri-status object=container field=state is=changed reported=CONTAINER_RUNNING true=CONTAINER_EXITED"},
		"it ran when it was asked, before the exit was reported": {saidAgain(func(s *criview.Status) {
			s.State, s.Asked = criview.Running, at(34)
			s.Finished, s.ExitCode, s.Reason = time.Time{}, 0, ""
		}), ""},
		"another end": {saidAgain(func(s *criview.Status) { s.Finished = s.Finished.Add(-time.Hour) }),
			"status cri-status object=container field=finished-at is=changed"},
		"another begin": {saidAgain(func(s *criview.Status) { s.Started = s.Started.Add(time.Hour) }),
			"status cri-status object=container field=started-at is=changed"},
		"after containerd was killed": {also(downFor(36, 37), saidAgain(func(s *criview.Status) { s.ExitCode = 255 })),
			"status cri-status object=container field=exit-code is=changed"},
		"after a call of its own was broken": {also(saidAgain(func(s *criview.Status) { s.Started = time.Time{} }),
			func(h *harness.History) {
				h.Instances[0].Started = time.Time{}
				h.Hits = append(h.Hits, hit("stmt:containerd:x:y", 31, func(h *failpoints.Hit) {
					h.Fault, h.Did = 0, term.Error
				}))
			}), ""},

		"a sandbox of one time": {madeAt(at(1), at(1)), ""},
		"a sandbox of two times": {madeAt(at(1), at(3_600_000)),
			"status cri-status object=sandbox field=created-at is=changed"},
		"a sandbox without a shim after a restart": {also(downFor(10, 20), func(h *harness.History) {
			h.Kills = []harness.Kill{{Who: "shim", PID: 42, At: at(12)}}
		}), "status cri-status object=sandbox field=state is=too-late"},
		"a sandbox that is gone after a restart": {func(h *harness.History) {
			restarts(h)
			h.CRI.Sandboxes[0].State = criview.NotReady
		}, "status cri-status object=sandbox field=state is=too-early"},

		"a name that is free": {tried(fact.APod, "no runtime for shimquake-absent is configured"), ""},
		"a pod's name that is not": {tried(fact.APod, reserved),
			"liveness container what=id-reuse object=pod code=Unknown"},
		"a container's name that is not": {tried(fact.AContainer, reserved),
			"liveness container what=id-reuse object=container"},

		"a name that is taken":           {taken("failed to reserve container name: name is reserved for 1"), ""},
		"a name that is taken, and free": {taken(noSuchImage), "liveness container what=name-free object=container"},
		"it may not have been written down": {also(taken(noSuchImage), func(h *harness.History) {
			h.Hits = append(h.Hits, hit("stmt:containerd:x:y", 31, func(h *failpoints.Hit) {
				h.Fault, h.Did = 0, term.Error
			}))
		}), ""},
		"nor may the sandbox run": {taken("sandbox container is not running"), ""},

		"CRI lists what it says": {listed(fact.AContainer, "c0", criview.Exited), ""},
		"CRI lists as running what has ended": {listed(fact.AContainer, "c0", criview.Running),
			"status cri-status what=listing object=container field=state is=other reported=CONTAINER_RUNNING"},
		"CRI does not list what has ended": {listed(fact.AContainer, "c0", ""),
			"status cri-status what=listing object=container field=state is=other"},
		"CRI lists a sandbox that runs": {listed(fact.ASandbox, "pod", criview.NotReady),
			"status cri-status what=listing object=sandbox field=state is=other"},
		"a stopped sandbox that is not ready": {listsStopped(criview.NotReady), ""},
		"one that is listed as ready": {listsStopped(criview.Ready),
			"status cri-status object=sandbox field=state is=too-late what=listing"},
		"one that is not listed": {listsStopped(""),
			"status cri-status object=sandbox field=state is=other what=listing"},
		"a fault may have kept its end from CRI": {also(listsStopped(criview.Ready), killsShimAt(30)), ""},
		"a stop that is over when it has ended":  {also(stopsIn(2), stopSucceeds(33)), ""},
		"a stop that is over before": {also(stopsIn(40), stopSucceeds(33)),
			"status cri-status object=container field=state is=too-early"},
		"it runs on after its stop": {runsOnAfter(stopsIn(2)),
			"status cri-status object=container field=state is=too-late reported=CONTAINER_RUNNING"},
		"it runs on after its stop, and a fault had broken the stop": {also(runsOnAfter(stopsIn(2)), breaks(31)),
			"status cri-status object=container field=state is=too-late reported=CONTAINER_RUNNING"},
		"it runs on after its stop, and later containerd restarts": {also(runsOnAfter(stopsIn(2)), restartsAt(at(40))),
			"status cri-status object=container field=state is=too-late reported=CONTAINER_RUNNING"},
		"it runs on after its stop, and containerd has restarted": {
			also(runsOnAfter(stopsIn(2)), restartsAt(at(33).Add(time.Microsecond))), ""},
		"another one with its name is stopped later": {also(runsOnAfter(stopsIn(2)), func(h *harness.History) {
			h.CRI.Done = append(h.CRI.Done, done("RemoveContainer", "c0", 36))
			h.Calls = append(h.Calls, harness.Call{Verb: "StopContainer", Of: "c0", At: at(90)})
		}), "status cri-status object=container field=state is=too-late reported=CONTAINER_RUNNING"},
		"it runs on after the second of two stops": {runsOnAfter(also(stopsIn(2), func(h *harness.History) {
			h.Calls = append(h.Calls, harness.Call{Verb: "StopContainer", Of: "c0", At: at(31)})
		})), ""},
		"it had its time": {stopsAt(1001), ""},
		"it had no time":  {stopsAt(2), "end end status=killed-early"},
		"CRI alone says that it has ended": {also(stopsAt(2), func(h *harness.History) {
			h.Events = slices.DeleteFunc(h.Events, func(e event.Task) bool {
				return e.Container == "c0" && e.Topic == event.TopicExit
			})
			h.Flushed.Events = len(h.Events)
		}), "end end status=said-early"},
		"a signal before its end": {also(stopsIn(30), kills(10, 20)), "end end status=killed-early"},
		"a signal after its end":  {also(stopsIn(30), kills(10, 41)), ""},
		"a signal for an exec": {also(stopsIn(30), kills(10, 20), func(h *harness.History) {
			h.Hits[len(h.Hits)-1].ExecID = "e0"
		}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := pod()
			tc.change(&h)
			if got := says(Judge(h, catalogued), tc.want); got != "" {
				t.Errorf("%s; want %q\n%s", got, tc.want, Judge(h, catalogued))
			}
		})
	}
}

// planned adds a fault to the plan that does not happen.
func planned(h *harness.History) { h.Case.Workload.Fakeshim = "exit-late" }
