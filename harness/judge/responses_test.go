package judge

import (
	"slices"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
)

// scripted turns the clean history into the history of a script without a fault. It has a
// call for each step, and a state and a list after each call.
func scripted(h *harness.History) {
	plain(h)
	h.Case.Workload = harness.Workload{
		Containers: []harness.Container{{Exit: 7, Execs: []harness.ExecSpec{{Stays: true}}}},
		Script: []string{"create c0", "start c0", "start c0", "add c0/e0", "delete c0/e0", "end c0", "wait c0",
			"delete c0"},
	}
	h.Instances[0].MustTell = nil
	for n, c := range []struct {
		verb, of string
		at       int
		got      harness.Response
		state    string
	}{
		{"create", "c0", 8, harness.Done, "CREATED"}, {"start", "c0", 18, harness.Done, "RUNNING"},
		{"start", "c0", 21, harness.Refused, "RUNNING"}, {"add", "c0/e0", 23, harness.Done, "RUNNING"},
		{"delete", "c0/e0", 25, harness.Done, "RUNNING"}, {"end", "c0", 28, harness.Done, "RUNNING"},
		{"wait", "c0", 30, harness.Done, "STOPPED"}, {"delete", "c0", 39, harness.Done, ""},
	} {
		call := harness.Call{Who: "client", Step: n + 1, Verb: c.verb, Of: c.of, At: at(c.at), Took: time.Millisecond,
			Response: c.got}
		if c.got == harness.Refused {
			call.Err = failed("Unknown", "cannot start a running process")
		}
		h.Calls = append(h.Calls, call)
		for _, field := range []string{harness.FieldState, harness.FieldList} {
			h.Observed = append(h.Observed, harness.Observed{Step: n + 1, At: at(c.at + 1), Of: "c0", Field: field,
				Value: c.state})
		}
	}
}

// afterFault adds a fault at the shim with this pid just before the start of c0. Shim 42
// serves c0, and shim 43 serves c1.
func afterFault(pid int, change func(*harness.History)) func(*harness.History) {
	return func(h *harness.History) {
		scripted(h)
		h.Case.Plan = clean().Case.Plan
		h.Firings = []harness.Firing{{Text: "x", Count: 1, At: at(17), PID: pid, Proof: "signalled"}}
		h.Hits = append(h.Hits, hit(createEntry, 6, func(h *failpoints.Hit) { h.ID, h.PID = "c1", 43 }))
		change(h)
	}
}

func TestRulesOfResponses(t *testing.T) {
	with := func(change func(*harness.History)) func(*harness.History) { return also(scripted, change) }
	const response, state = "liveness container what=response call=", "liveness container what=state call="
	judged(t, map[string]row{
		"as the model has it": {scripted, ""},
		"a second start succeeds": {with(func(h *harness.History) { h.Calls[2].Response = harness.Done }),
			response + "start reported=done true=running"},
		"an exec's id is taken": {with(func(h *harness.History) { h.Calls[3].Response = harness.Exists }),
			response + "add reported=exists of=exec"},
		"it is not called running": {with(func(h *harness.History) { h.Observed[2].Value = "CREATED" }),
			state + "start field=state reported=CREATED true=running"},
		"it is not listed": {with(func(h *harness.History) { h.Observed[3].Value = "" }),
			state + "start field=list reported=none"},
		"it is listed for ever": {with(func(h *harness.History) { h.Observed[15].Value = "STOPPED" }),
			state + "delete field=list reported=STOPPED true=none"},
		"its state is not told": {with(func(h *harness.History) { h.Observed[2].Err = failed("Unknown", "x") }),
			state + "start field=state reported=error"},
		"a lost response": {with(func(h *harness.History) { h.Calls[4].Response = harness.Lost }), ""},
		"after a fault": {with(func(h *harness.History) {
			h.Case.Plan, h.Firings = clean().Case.Plan, clean().Firings
			h.Calls[2].Response = harness.Done
		}), ""},
		"after a fault it runs again": {afterFault(42, func(h *harness.History) { h.Observed[12].Value = "RUNNING" }),
			state + "wait field=state reported=RUNNING true=stopped"},
		"a fault leaves it in a transient state": {afterFault(42, func(h *harness.History) {
			h.Observed[2].Value = "PAUSING"
		}), state + "start field=state reported=PAUSING"},
		"its pause may be in flight": {afterFault(42, func(h *harness.History) {
			h.Observed[2].Value = "PAUSING"
			h.Calls = append(h.Calls, harness.Call{Step: 2, Verb: "pause", Of: "c0", At: at(18), Response: harness.Lost})
		}), ""},
		"after a fault it is not reported": {afterFault(42, func(h *harness.History) {
			h.Observed[12].Value, h.Observed[13].Value = "UNKNOWN", ""
		}), ""},
		"a fault at another shim hides it": {afterFault(43, func(h *harness.History) { h.Observed[3].Value = "" }),
			state + "start field=list reported=none true=running"},
		"the whole list is late then": {afterFault(43, func(h *harness.History) {
			h.Observed[3].Value, h.Observed[3].Err = "", failed("DeadlineExceeded", "context deadline exceeded")
		}), ""},
		"another fault is at containerd": {afterFault(43, func(h *harness.History) {
			h.Case.Plan, h.Firings = append(h.Case.Plan, h.Case.Plan[0]), append(h.Firings, harness.Firing{
				Fault: 1, Text: "y", Count: 1, At: at(19), Proof: "counted"})
			h.Observed[3].Value = ""
		}), ""},
		"the fault also kills containerd": {afterFault(43, func(h *harness.History) {
			h.Case.Plan[0].Meanwhile = []failpoints.Step{{Verb: "kill", Who: "containerd"}}
			h.Observed[3].Value = ""
		}), ""},
		"more than can be followed": {with(func(h *harness.History) {
			h.Calls = slices.Repeat([]harness.Call{{Step: 1, Verb: "create", Of: "c0", Response: harness.Lost, At: at(1)}}, 40)
		}), "harness"},
	})
}

// scriptedPod turns the history of a pod into the history of a script.
func scriptedPod(change func(*harness.History)) func(*harness.History) {
	return func(h *harness.History) {
		h.Case.Workload = harness.Workload{API: harness.CRI, Containers: []harness.Container{{Exit: 7}, {Exit: 3}},
			Script: []string{"run pod", "create c0", "start c0", "start c0", "end c0", "wait c0", "remove c0", "remove c0",
				"stop c0"}}
		for n, c := range []struct {
			verb string
			at   int
			got  harness.Response
		}{
			{"RunPodSandbox", 1, harness.Done}, {"CreateContainer", 4, harness.Done}, {"StartContainer", 18, harness.Done},
			{"StartContainer", 21, harness.Refused}, {"end", 28, harness.Done}, {"await", 30, harness.Done},
			{"RemoveContainer", 41, harness.Done}, {"RemoveContainer", 43, harness.Done},
			{"StopContainer", 44, harness.Done},
		} {
			call := harness.Call{Who: "client", Step: n + 1, Verb: c.verb, Of: "c0", At: at(c.at), Took: time.Millisecond,
				Response: c.got}
			if c.verb == "RunPodSandbox" {
				call.Of = ""
			}
			if c.got == harness.Refused {
				call.Err = failed("Unknown", "container is in CONTAINER_RUNNING state")
			}
			h.Calls = append(h.Calls, call)
		}
		h.Observed = append(h.Observed, []harness.Observed{
			{Step: 1, At: at(3), Of: "pod", Field: harness.FieldState, Value: criview.Ready},
			{Step: 2, At: at(6), Of: "c0", Field: harness.FieldState, Value: "CONTAINER_CREATED"},
			{Step: 3, At: at(20), Of: "c0", Field: harness.FieldList, Value: criview.Running},
			{Step: 7, At: at(43), Of: "c0", Field: harness.FieldList},
		}...)
		change(h)
	}
}

func TestRulesOfResponsesOfPods(t *testing.T) {
	const response, state = "liveness container what=response call=", "liveness container what=state call="
	for name, tt := range map[string]row{
		"as the model has it": {func(*harness.History) {}, ""},
		"a second start succeeds": {func(h *harness.History) { h.Calls[3].Response = harness.Done },
			response + "StartContainer reported=done want=refused"},
		"the pod is refused": {func(h *harness.History) { h.Calls[0].Response = harness.Refused },
			response + "RunPodSandbox reported=refused true=none want=done"},
		"a stop of what is gone fails": {func(h *harness.History) { h.Calls[8].Response = harness.NotFound },
			response + "StopContainer reported=not-found"},
		"the pod is not ready": {func(h *harness.History) { h.Observed[0].Value = criview.NotReady },
			state + "run field=state reported=SANDBOX_NOTREADY true=ready"},
		"it is listed for ever": {func(h *harness.History) { h.Observed[3].Value = criview.Exited },
			state + "remove field=list reported=CONTAINER_EXITED"},
		"a removal that is not of a step": {func(h *harness.History) { h.Calls[8].Step = 0 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := pod()
			scriptedPod(tt.change)(&h)
			v := Judge(h, catalogued)
			if got := says(v, tt.want); got != "" {
				t.Errorf("%s; want %q\n%s", got, tt.want, v)
			}
		})
	}
}

// Two uses of one id in a script are judged separately. The second ends as the first one
// did, with another pid.
func TestUsesOfAnID(t *testing.T) {
	twice := func(change func(*harness.History)) func(*harness.History) {
		return func(h *harness.History) {
			scripted(h)
			first := *h
			second := h.Instances[0]
			second.Name, second.PID = "c0-2", 51
			later := func(at time.Time) time.Time { return at.Add(41 * time.Millisecond) }
			for _, at := range []*time.Time{&second.Begun, &second.Created, &second.Started, &second.Waited, &second.Deleted,
				&second.Payload.StartedAt, &second.Payload.ExitedAt} {
				*at = later(*at)
			}
			h.Instances = append(slices.Clone(h.Instances), second)
			for _, e := range first.Events {
				e.PID, e.Seen, e.Sent = 51, later(e.Seen), later(e.Sent)
				if !e.Exited.IsZero() {
					e.Exited = later(e.Exited)
				}
				h.Events = append(h.Events, e)
			}
			for _, o := range first.Reported {
				o.PID, o.At = 51, later(o.At)
				h.Reported = append(h.Reported, o)
			}
			h.Exits = append(h.Exits, harness.Exit{PID: 51, Code: 7, At: at(71)})
			h.Case.Workload.Script = slices.Repeat(h.Case.Workload.Script, 2)
			for _, c := range first.Calls {
				c.Step, c.At = c.Step+8, later(c.At)
				h.Calls = append(h.Calls, c)
			}
			h.After.At = at(100)
			change(h)
			h.Flushed.Events, h.Flushed.Reported = len(h.Events), len(h.Reported)
		}
	}
	judged(t, map[string]row{
		"both end": {twice(func(*harness.History) {}), ""},
		"the first exit comes twice": {
			twice(func(h *harness.History) { h.Events = slices.Insert(h.Events, 3, h.Events[2]) }),
			"event event event=repeated topic=/tasks/exit"},
		"the second exit is lost": {twice(func(h *harness.History) { h.Events = slices.Delete(h.Events, 6, 7) }),
			"event event event=missing topic=/tasks/exit"},
		"the second start succeeds at once": {twice(func(h *harness.History) { h.Calls[10].Response = harness.Done }),
			"liveness container what=response call=start true=running"},
	})
}
