package judge

import (
	"slices"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// pod is the history of a pod with one container that exits with 7, in a crash loop of
// one round. It has no finding.
func pod() harness.History {
	h := clean()
	h.Case.Plan, h.Firings, h.Hits, h.Flushed.Hits = nil, nil, nil, 0
	h.Case.Workload = harness.Workload{API: harness.CRI}
	h.Instances[0].MustTell = []exit.Observer{exit.ByTaskExit}
	for n := range h.Events {
		h.Events[n].Namespace = daemon.CRINamespace
	}
	h.Events = append(h.Events, ofSandbox(event.TopicCreate, 1), ofSandbox(event.TopicStart, 2),
		ofSandbox(event.TopicExit, 44))
	h.Flushed.Events = len(h.Events)
	there := func() *inventory.Inventory {
		ref := []inventory.Ref{{Namespace: daemon.CRINamespace, ID: "pod"}}
		return &inventory.Inventory{Daemon: &inventory.Daemon{Containers: ref, Sandboxes: ref}}
	}
	event := func(kind, id string, ms int) criview.Event {
		e := criview.Event{Type: kind, ID: id, Seen: at(ms)}
		if id != "pod" && kind != criview.Deleted {
			e.State = criview.Running
		}
		return e
	}
	stopped := event(criview.Stopped, "c0", 33)
	stopped.State, stopped.ExitCode = criview.Exited, 7
	h.CRI = &harness.CRISeen{
		Done: []harness.CRIDone{
			done("RunPodSandbox", "pod", 2), done("CreateContainer", "c0", 5), done("StartContainer", "c0", 20),
			done("RemoveContainer", "c0", 42), done("StopPodSandbox", "pod", 45), done("RemovePodSandbox", "pod", 47),
		},
		Statuses: []criview.Status{
			{ID: "c0", State: criview.Running, Created: at(4), Started: at(19), Asked: at(21), Seen: at(22)},
			{ID: "c0", State: criview.Exited, ExitCode: 7, Reason: "Error", Created: at(4), Started: at(19),
				Finished: at(30), Asked: at(34), Seen: at(35)},
		},
		Sandboxes: []harness.SandboxSeen{{ID: "pod", State: criview.Ready, At: at(21), Answered: at(23)},
			{ID: "pod", State: criview.NotReady, Stopped: true, At: at(46), Answered: at(46)}},
		Events: []criview.Event{
			event(criview.Created, "pod", 2), event(criview.Started, "pod", 2), event(criview.Created, "c0", 5),
			event(criview.Started, "c0", 20), stopped, event(criview.Deleted, "c0", 42),
			event(criview.Stopped, "pod", 45), event(criview.Deleted, "pod", 47),
		},
		Pod: there(),
		Rounds: []harness.Round{{Number: 1, Inspection: harness.Inspection{At: at(43), Inventory: there()},
			Listed: &harness.CRIListed{Sandboxes: []string{"pod"}}}},
		Listed: &harness.CRIListed{},
	}
	return h
}

// ofSandbox is an event of the pod's sandbox.
func ofSandbox(topic string, ms int) event.Task {
	e := event.Task{
		Namespace: daemon.CRINamespace, Topic: topic, Container: "pod", PID: 40, Sent: at(ms), Seen: at(ms),
	}
	if topic == event.TopicExit {
		e.Status, e.Exited = 137, at(ms)
	}
	return e
}

// untold removes an event of the pod's sandbox.
func untold(topic string) func(*harness.History) {
	return func(h *harness.History) {
		h.Events = slices.DeleteFunc(h.Events, func(e event.Task) bool {
			return e.Container == "pod" && e.Topic == topic
		})
		h.Flushed.Events = len(h.Events)
	}
}

// toldAt changes the time in the sandbox's exit event.
func toldAt(ms int) func(*harness.History) {
	return func(h *harness.History) { h.Events[len(h.Events)-1].Exited = at(ms) }
}

func done(verb, id string, ms int) harness.CRIDone {
	return harness.CRIDone{Verb: verb, ID: id, At: at(ms)}
}

// exited changes the status in which the container has exited.
func exited(change func(*criview.Status)) func(*harness.History) {
	return func(h *harness.History) { change(&h.CRI.Statuses[1]) }
}

// without removes an event.
func without(kind, id string) func(*harness.History) {
	return func(h *harness.History) {
		for n, e := range h.CRI.Events {
			if e.Type == kind && e.ID == id {
				h.CRI.Events = append(h.CRI.Events[:n], h.CRI.Events[n+1:]...)
				return
			}
		}
	}
}

// also combines several changes.
func also(all ...func(*harness.History)) func(*harness.History) {
	return func(h *harness.History) {
		for _, change := range all {
			change(h)
		}
	}
}

// downFor adds a kill of containerd, and the time until it was back.
func downFor(from, back int) func(*harness.History) {
	return func(h *harness.History) {
		h.Deaths = append(h.Deaths, daemon.Death{
			At: at(from), BackIn: at(back).Sub(at(from)), Asked: true, Killed: true, Code: 137,
		})
	}
}

// judgedPod has each row change the history of a pod. A row without an expected finding
// has no residue either.
// halfMadePod has the client find a sandbox in a list, of which a shim has done so much.
func halfMadePod(state string, did ...string) func(*harness.History) {
	return func(h *harness.History) {
		for _, point := range did {
			h.Hits = append(h.Hits, hit("rpc:shim:Task."+point, 24, func(h *failpoints.Hit) {
				h.Who, h.ID, h.PID = "shim", "half", 77
			}))
		}
		h.Flushed.Hits = len(h.Hits)
		h.CRI.Unanswered = []harness.SandboxSeen{{ID: "half", State: state, At: at(30), Answered: at(31)}}
	}
}

func judgedPod(t *testing.T, rows map[string]row) {
	t.Helper()
	for name, tc := range rows {
		t.Run(name, func(t *testing.T) {
			h := pod()
			tc.change(&h)
			v := Judge(h, catalogued)
			if got := says(v, tc.want); got != "" {
				t.Errorf("%s; want %q\n%s", got, tc.want, v)
			}
			if tc.want == "" && len(v.Findings) > 0 {
				t.Errorf("it found something\n%s", v)
			}
		})
	}
}

// Each row changes the history of a pod in one way, as in TestRules.
func TestCRIRules(t *testing.T) {
	years := func(t time.Time) time.Time { return t.AddDate(-20, 0, 0) }
	judgedPod(t, map[string]row{
		"nothing":      {func(*harness.History) {}, ""},
		"a task's pod": {func(h *harness.History) { h.CRI = nil }, ""},

		"it finished 20 years ago": {exited(func(s *criview.Status) { s.Finished = years(s.Finished) }),
			"status cri-status object=container field=finished-at is=too-early"},
		"it finished before its payload ended": {also(
			exited(func(s *criview.Status) { s.Finished = at(30).Add(-2 * time.Second) }), begun(-9000)),
			"status cri-status field=finished-at is=too-early"},
		"a clock that was adjusted": {exited(func(s *criview.Status) { s.Finished = at(-500) }), ""},
		"it finished in the future": {exited(func(s *criview.Status) { s.Finished = at(2000) }),
			"status cri-status field=finished-at is=too-late"},
		"it has no time of its end": {exited(func(s *criview.Status) { s.Finished = time.Time{} }),
			"status cri-status field=finished-at is=not-set"},
		"it started 20 years ago": {exited(func(s *criview.Status) { s.Started = years(s.Started) }),
			"status cri-status field=started-at is=too-early"},
		"it started when it had been started": {also(exited(func(s *criview.Status) {
			s.Started, s.Seen = at(5000), at(9000)
		})), "status cri-status field=started-at is=too-late"},
		"and a restarted containerd may say so": {also(exited(func(s *criview.Status) {
			s.Started, s.Seen = at(5000), at(9000)
		}), saidOnce, downFor(4000, 4900)), ""},
		"it never started, and ran": {exited(func(s *criview.Status) { s.Started = time.Time{} }),
			"status cri-status field=started-at is=not-set"},
		"one whose start failed need not": {also(exited(func(s *criview.Status) { s.Started = time.Time{} }),
			saidOnce, func(h *harness.History) { h.Instances[0].Started = time.Time{} }), ""},
		"it was created 20 years ago": {exited(func(s *criview.Status) { s.Created = years(s.Created) }),
			"status cri-status field=created-at is=too-early"},
		"it was created never": {exited(func(s *criview.Status) { s.Created = time.Time{} }),
			"status cri-status field=created-at is=not-set"},
		"the time of another is not looked at": {func(h *harness.History) { h.CRI.Statuses[1].ID = "other" }, ""},

		"a failure that is completed": {exited(func(s *criview.Status) { s.Reason = "Completed" }),
			"status cri-status field=reason is=other"},
		"a kill by nobody's memory": {exited(func(s *criview.Status) { s.Reason = "OOMKilled" }),
			"status cri-status field=reason is=other"},
		"no reason at all": {exited(func(s *criview.Status) { s.Reason = "" }),
			"status cri-status field=reason is=other"},
		"a success that is completed": {also(exited(func(s *criview.Status) { s.ExitCode, s.Reason = 0, "Completed" }),
			func(h *harness.History) { h.CRI.Events[4].ExitCode = 0 }), ""},

		"it is said to run on": {exited(func(s *criview.Status) {
			s.State, s.Finished, s.Asked, s.Seen = criview.Running, time.Time{}, at(26_000), at(26_001)
		}), "status cri-status field=state is=too-late"},
		"containerd came back a moment ago": {also(exited(func(s *criview.Status) {
			s.State, s.Finished, s.Asked, s.Seen = criview.Running, time.Time{}, at(26_000), at(26_001)
		}), downFor(100, 2_000)), ""},
		"it is UNKNOWN for long after a restart": {also(exited(func(s *criview.Status) {
			s.State, s.Finished, s.Asked, s.Seen = criview.Unknown, time.Time{}, at(28_000), at(28_001)
		}), downFor(100, 200)), "status cri-status field=state is=too-late"},
		"it is said to run after StopContainer": {also(killedIn(), exited(func(s *criview.Status) {
			s.State, s.Finished, s.Asked, s.Seen = criview.Running, time.Time{}, at(26_000), at(26_001)
		})), "status cri-status field=state is=too-late"},
		"it is said to have exited, and runs": {func(h *harness.History) {
			h.Instances[0].Payload.ExitedAt = at(3000)
			h.CRI.Statuses[1].Finished = at(2500)
			h.CRI.Statuses[1].Seen = at(1600)
		}, "status cri-status field=state is=too-early"},

		"a sandbox that is half made and ready": {halfMadePod(criview.Ready, "Create:entry", "Create:exit"),
			"status cri-status field=state is=too-early"},
		"and not ready": {halfMadePod("SANDBOX_NOTREADY", "Create:entry", "Create:exit"), ""},
		"one that is made, and nobody was told": {
			halfMadePod(criview.Ready, "Create:entry", "Create:exit", "Start:entry", "Start:exit"), ""},
		"a sandbox that is ready when it is stopped": {
			func(h *harness.History) { h.CRI.Sandboxes[1].State = criview.Ready },
			"status cri-status object=sandbox field=state is=too-late"},
		"a sandbox that is not ready while it runs": {
			func(h *harness.History) { h.CRI.Sandboxes[0].State = criview.NotReady },
			"status cri-status object=sandbox field=state is=too-early"},
		"a sandbox that CRI cannot tell the state of": {func(h *harness.History) {
			h.CRI.Sandboxes[0].State, h.CRI.Sandboxes[0].Err = "", failed("Unknown", "broken")
		}, "status cri-status object=sandbox field=state is=not-set"},
		"because a fault came while it was asked": {func(h *harness.History) {
			h.CRI.Sandboxes[0].State, h.CRI.Sandboxes[0].Err = "", failed("Unknown", "injected")
			h.Hits = append(h.Hits, failpoints.Hit{Time: at(22)})
		}, ""},
		"and one that came when it had answered": {func(h *harness.History) {
			h.CRI.Sandboxes[0].State, h.CRI.Sandboxes[0].Err = "", failed("Unknown", "broken")
			h.Hits = append(h.Hits, failpoints.Hit{Time: at(24)})
		}, "status cri-status object=sandbox field=state is=not-set"},
		"because its shim was killed": {also(func(h *harness.History) { h.CRI.Sandboxes[0].State = criview.NotReady },
			killsShimAt(3)), ""},
		"before its shim was killed": {also(func(h *harness.History) { h.CRI.Sandboxes[0].State = criview.NotReady },
			killsShimAt(2400)), "status cri-status object=sandbox field=state is=too-early"},

		"nobody tells that a sandbox was made": {untold(event.TopicCreate),
			"event event event=missing topic=/tasks/create"},
		"nor that it was started": {untold(event.TopicStart), "event event event=missing topic=/tasks/start"},
		"nor that it has ended":   {untold(event.TopicExit), "event event event=missing topic=/tasks/exit"},
		"when a call was broken it may have ended otherwise": {also(untold(event.TopicExit), func(h *harness.History) {
			h.Hits = append(h.Hits, failpoints.Hit{Who: "containerd", Did: term.Error, Time: at(40)})
		}), ""},
		"nobody could hear of its end": {also(untold(event.TopicExit), downFor(36, 41)), ""},
		"one that nobody has stopped": {also(untold(event.TopicExit), func(h *harness.History) {
			h.CRI.Done[4].ID = "other"
		}), ""},
		"a sandbox that ended later than was told": {toldAt(44 + 60), "event event event=wrong-time topic=/tasks/exit"},
		"a sandbox whose shim has told its end, which containerd knows, and tells again": {func(h *harness.History) {
			again := h.Events[len(h.Events)-1]
			again.Sent, again.Seen = at(49), at(49)
			h.Events = append(h.Events, again)
			for n, point := range []string{deleteExit, containerdHas, asksToExit} {
				h.Hits = append(h.Hits, hit(point, 46+n, func(h *failpoints.Hit) { h.ID = "pod" }))
			}
			h.Flushed.Events, h.Flushed.Hits = len(h.Events), len(h.Hits)
		}, "event event event=repeated topic=/tasks/exit repeat=already-reported"},
		"a sandbox of another namespace": {func(h *harness.History) { h.Events[4].Namespace = "shimquake" },
			"event event event=wrong-namespace topic=/tasks/create"},

		"a sandbox that stays listed": {func(h *harness.History) { h.CRI.Listed.Sandboxes = []string{"pod"} },
			"leak sandbox listed=by-cri-alone"},
		"a container that stays listed": {func(h *harness.History) { h.CRI.Listed.Containers = []string{"c0"} },
			"leak container listed=by-cri-alone"},
		"a sandbox that is there and listed": {func(h *harness.History) {
			h.CRI.Listed.Sandboxes = []string{"pod"}
			h.After.Inventory.Daemon.Sandboxes = []inventory.Ref{{Namespace: daemon.CRINamespace, ID: "pod"}}
		}, "leak sandbox task=none"},
		"CRI cannot list": {func(h *harness.History) { h.CRI.Listed.Err = failed("Unknown", "broken") },
			"liveness containerd what=listing"},
		"nobody could ask it": {func(h *harness.History) { h.CRI.Listed.Err = &callerr.Failed{Text: "down"} }, "inventory"},

		"no event of an end": {without(criview.Stopped, "c0"),
			"event cri-event event=missing topic=CONTAINER_STOPPED_EVENT"},
		"no event of a creation": {without(criview.Created, "c0"),
			"event cri-event event=missing topic=CONTAINER_CREATED_EVENT"},
		"no event of a removal": {without(criview.Deleted, "c0"),
			"event cri-event event=missing topic=CONTAINER_DELETED_EVENT"},
		"nor of a creation never reported": {also(without(criview.Deleted, "c0"), without(criview.Created, "c0"),
			func(h *harness.History) { h.CRI.Done = append(h.CRI.Done[:1:1], h.CRI.Done[2:]...) }), ""},
		"no event of a sandbox's end": {without(criview.Stopped, "pod"),
			"event cri-event event=missing topic=CONTAINER_STOPPED_EVENT"},
		"nobody could hear of the end": {also(without(criview.Stopped, "c0"), downFor(31, 32)), ""},
		"it was down before it was due": {also(without(criview.Stopped, "c0"), downFor(7, 9)),
			"event cri-event event=missing"},
		"it was down long after": {also(without(criview.Stopped, "c0"), downFor(5000, 5100)),
			"event cri-event event=missing"},
		"it took two starts to be back": {also(without(criview.Stopped, "c0"), downFor(25, 25), downFor(40, 45)), ""},
		"a release without events": {func(h *harness.History) {
			h.CRI.Events, h.CRI.NoEvents, h.Version = nil, true, "v1.6.36"
		}, ""},
		"a release that has lost them": {func(h *harness.History) { h.CRI.Events, h.CRI.NoEvents = nil, true },
			"event cri-event event=missing topic=CONTAINER_STOPPED_EVENT"},
		"an event that comes twice": {func(h *harness.History) { h.CRI.Events = append(h.CRI.Events, h.CRI.Events[4]) },
			"event cri-event event=repeated topic=CONTAINER_STOPPED_EVENT"},
		"it comes again after a restart": {also(downFor(48, 60), func(h *harness.History) {
			e := h.CRI.Events[7]
			e.Seen = at(70)
			h.CRI.Events = append(h.CRI.Events, e)
		}), ""},
		"two events that change places": {func(h *harness.History) {
			e := h.CRI.Events
			e[4], e[5] = e[5], e[4]
		}, ""},
		"an event that comes too late": {func(h *harness.History) {
			e := h.CRI.Events
			e[4], e[5] = e[5], e[4]
			e[5].Seen = at(2000)
		}, "event cri-event event=late topic=CONTAINER_STOPPED_EVENT after=CONTAINER_DELETED_EVENT"},
		"an event with another exit code": {func(h *harness.History) { h.CRI.Events[4].ExitCode = 0 },
			"event cri-event event=other-field field=exit-code"},
		"an event without its pod's status": {func(h *harness.History) { h.CRI.Events[3].NoSandboxStatus = true },
			"event cri-event event=no-field field=sandbox"},
		"an event of a removal with the status of what is gone": {func(h *harness.History) {
			n := slices.IndexFunc(h.CRI.Events, func(e criview.Event) bool {
				return e.ID == "c0" && e.Type == criview.Deleted
			})
			h.CRI.Events[n].State = criview.Exited
		}, "event cri-event event=other-field field=state true=gone"},
		"an event without its container's status": {func(h *harness.History) { h.CRI.Events[3].State = "" },
			"event cri-event event=no-field field=state"},
		"a bystander's": {func(h *harness.History) {
			h.CRI.Events = append(h.CRI.Events, criview.Event{Type: criview.Started, ID: "bystander", Seen: at(50)})
		}, ""},
		"one that a fault may have left bare": {func(h *harness.History) {
			h.CRI.Events[3].NoSandboxStatus, h.Case.Plan = true, clean().Case.Plan
			h.Firings = clean().Firings
		}, ""},
		"an event with its time": {eventAt(4, at(32)), ""},
		"an event with a time in seconds": {eventAt(4, time.Unix(0, 1_000_000)),
			"event cri-event event=wrong-time field=created-at is=too-early topic=CONTAINER_STOPPED_EVENT"},
		"an event of a time before what it tells": {eventAt(4, at(30-1100)), "event cri-event event=wrong-time"},
		"an event of a time to come":              {eventAt(4, at(33+1100)), "event cri-event is=too-late"},
		"an event with another state": {func(h *harness.History) { h.CRI.Events[4].State = criview.Running },
			"event cri-event event=other-field field=state"},
	})
}

// eventAt changes the time of an event.
func eventAt(n int, at time.Time) func(*harness.History) {
	return func(h *harness.History) { h.CRI.Events[n].Created = at }
}

// begun changes the time of the first request for the container.
func begun(ms int) func(*harness.History) {
	return func(h *harness.History) { h.Instances[0].Begun = at(ms) }
}

// saidOnce removes the status in which the container runs.
func saidOnce(h *harness.History) { h.CRI.Statuses = h.CRI.Statuses[1:] }

// killedIn makes StopContainer kill the container.
func killedIn() func(*harness.History) {
	return func(h *harness.History) {
		h.Instances[0].Spec = harness.Container{Signal: "SIGKILL"}
		h.Exits = nil
		h.Instances[0].Payload = payload.Truth{Runs: 1, StartedAt: at(20), ReadyAt: at(21)}
		h.CRI.Done = append(h.CRI.Done, harness.CRIDone{Verb: "StopContainer", ID: "c0", At: at(33)})
	}
}

// killsShimAt plans a kill of the shim, and records its time.
func killsShimAt(ms int) func(*harness.History) {
	return func(h *harness.History) {
		h.Case.Plan = failpoints.Plan{failpoints.Kill("proc:shim:running")}
		h.Firings = []harness.Firing{{Text: "x", Count: 1, At: at(ms), Proof: "done"}}
	}
}
