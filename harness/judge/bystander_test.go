package judge

import (
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/wording"
)

// with returns the clean history with an unharmed bystander. It runs from 0 to 60 ms and
// writes a line every 10 ms.
func with(api harness.API) harness.History {
	h := clean()
	h.Case.Workload.Bystander, h.Done = true, at(50)
	h.Bystanders = []harness.Bystander{{
		API: api, Namespace: "shimquake", Want: 42, Asked: 3, Released: at(60), Removed: at(90),
		Instance: harness.Instance{Name: "bystander", ID: "bystander", PID: 51, Spec: harness.Container{Exit: 42},
			Begun: at(-9), Created: at(-2), Started: at(0), Waited: at(62), Deleted: at(63),
			Payload: payload.Truth{Runs: 1, StartedAt: at(0), Exited: true, Status: 42, ExitedAt: at(61), Wrote: 6}},
		Output:   harness.Output{Last: 6, LastAt: at(60)},
		Reported: []exit.Observation{{Container: "bystander", Observer: exit.ByWait, Status: 42, At: at(61), PID: 51}},
	}}
	for _, e := range []event.Task{
		{Topic: event.TopicCreate, Seen: at(-3)}, {Topic: event.TopicStart, Seen: at(-1)},
		{Topic: event.TopicExit, Status: 42, Exited: at(61), Seen: at(62)},
		{Topic: event.TopicDelete, Status: 42, Exited: at(61), Seen: at(62)},
	} {
		e.Namespace, e.Container, e.PID = "shimquake", "bystander", 51
		h.Events = append(h.Events, e)
	}
	h.Flushed.Events = len(h.Events)
	return h
}

// Each row changes one observation of the bystander, or one event around it.
func TestBystanders(t *testing.T) {
	type changes = func(*harness.History, *harness.Bystander)
	const call, output = "others bystander what=others-call", "others bystander what=others-output"
	const answer = "others bystander what=others-answer"
	const eventOf, end = "others bystander what=others-event", "others bystander what=others-end"
	for name, tc := range map[string]struct {
		change changes
		want   string // as in TestRules
	}{
		"nothing happened to it": {func(*harness.History, *harness.Bystander) {}, ""},
		"none was seen":          {func(h *harness.History, _ *harness.Bystander) { h.Bystanders = nil }, "harness"},
		"what its twin in another namespace has come to": {func(h *harness.History, _ *harness.Bystander) {
			h.Events = append(h.Events, event.Task{Namespace: "shimquake-twin", Topic: event.TopicExit,
				Container: "bystander", PID: 61, Status: 137, Exited: at(61), Seen: at(62)})
			h.Flushed.Events = len(h.Events)
		}, ""},
		"nobody has asked": {func(_ *harness.History, b *harness.Bystander) { b.Asked = 0 }, "harness"},
		"another one could not start": {func(h *harness.History, b *harness.Bystander) {
			b.Asked = 0
			twin := harness.Bystander{API: b.API, Instance: harness.Instance{ID: b.ID}, Namespace: "shimquake-twin"}
			asked("create", "Unknown")(h, &twin)
			h.Bystanders = append(h.Bystanders, twin)
		}, call + " call=create code=Unknown"},
		"it ran twice": {func(_ *harness.History, b *harness.Bystander) { b.Payload.Runs = 2 }, "truth"},

		"State says what is true":           {isTold("State", true, "RUNNING", 51), ""},
		"State says another state":          {isTold("State", true, "CREATED", 51), answer + " by=State"},
		"State says another pid":            {isTold("State", true, "RUNNING", 52), answer + " by=State"},
		"List leaves it out":                {isTold("List", false, "", 0), answer + " by=List reported=nothing"},
		"CRI lists it":                      {podTold("ListContainers", "CONTAINER_RUNNING"), ""},
		"CRI lists it as one that is over":  {podTold("ListContainers", "CONTAINER_EXITED"), answer + " by=ListContainers"},
		"CRI lists its pod as not ready":    {podTold("ListPodSandbox", "SANDBOX_NOTREADY"), answer + " object=pod"},
		"an answer when it had ended early": {hadEnded, end},

		"a call that was not answered": {asked("State", "DeadlineExceeded"), call + " call=State code=DeadlineExceeded"},
		"a call that was refused":      {asked("delete", "Unknown"), call + " call=delete code=Unknown"},
		"while containerd was down": {both(asked("State", "Unavailable"), func(h *harness.History, _ *harness.Bystander) {
			h.Deaths = []daemon.Death{{At: at(15), BackIn: 50 * time.Millisecond, Asked: true}}
		}), ""},
		"while containerd ended": {both(asked("State", "Unavailable"), func(h *harness.History, _ *harness.Bystander) {
			h.Deaths = []daemon.Death{{At: at(5000), After: 4990 * time.Millisecond, Asked: true}}
		}), ""},
		"before it was asked to end": {both(asked("State", "Unavailable"), func(h *harness.History, _ *harness.Bystander) {
			h.Deaths = []daemon.Death{{At: at(5000), After: 4900 * time.Millisecond, Asked: true}}
		}), call},
		"long after it was up again": {both(asked("State", "Unavailable"), func(h *harness.History, _ *harness.Bystander) {
			h.Deaths = []daemon.Death{{At: at(-9000), BackIn: 50 * time.Millisecond, Asked: true}}
		}), call},
		"while it stood still": {both(asked("State", "DeadlineExceeded"), func(h *harness.History, _ *harness.Bystander) {
			h.Stops = []harness.Stop{{From: at(10)}}
		}), ""},
		"long after it went on": {both(asked("State", "DeadlineExceeded"), func(h *harness.History, _ *harness.Bystander) {
			h.Stops = []harness.Stop{{From: at(-9000), To: at(-8000)}}
		}), call},
		"long after it was killed as it stood still": {both(asked("State", "DeadlineExceeded"),
			func(h *harness.History, _ *harness.Bystander) {
				h.Stops = []harness.Stop{{From: at(-9000)}}
				h.Deaths = []daemon.Death{{At: at(-8000), BackIn: 50 * time.Millisecond, Asked: true}}
			}), call},
		"the disk of all is under pressure": {both(asked("delete", "DeadlineExceeded"),
			func(h *harness.History, _ *harness.Bystander) {
				h.Case.Plan = append(h.Case.Plan, failpoints.Pressure("io:root:running", "4MiB/s,60MiB"))
			}), ""},
		"it cannot be started after a fault": {neverStarted(false), "others bystander what=others-call call=create"},
		"it cannot be started before one":    {neverStarted(true), "before"},

		"it was killed": {func(_ *harness.History, b *harness.Bystander) { b.Payload.Exited = false }, end},
		"it was ended": {func(_ *harness.History, b *harness.Bystander) { b.Payload.ExitedAt = at(40) },
			end + " reported=42"},
		"it ended otherwise": {func(_ *harness.History, b *harness.Bystander) { b.Payload.Status = 143 },
			end + " status=wrong want=42 true=143"},
		"another status was reported": {func(_ *harness.History, b *harness.Bystander) { b.Reported[0].Status = 255 },
			"others bystander what=others-status by=wait reported=255"},

		"no exit was sent": {func(h *harness.History, _ *harness.Bystander) { drop(h, 6) },
			eventOf + " event=missing topic=/tasks/exit"},
		"no create was sent": {func(h *harness.History, _ *harness.Bystander) { drop(h, 4) },
			eventOf + " event=missing topic=/tasks/create"},
		"an exit with another time": {func(_ *harness.History, b *harness.Bystander) { b.Reported[0].At = at(64) },
			"others bystander what=others-status by=wait status=other-time"},
		"nobody could hear it": {func(h *harness.History, _ *harness.Bystander) {
			drop(h, 6)
			h.Deaths = []daemon.Death{{At: at(61), BackIn: time.Second, Asked: true}}
		}, ""},
		"a delete that was lost with its shim": {func(h *harness.History, _ *harness.Bystander) { drop(h, 7) }, ""},
		"two exits were sent": {func(h *harness.History, _ *harness.Bystander) { h.Events = append(h.Events, h.Events[6]) },
			eventOf + " event=repeated topic=/tasks/exit"},
		"an exit with another pid": {func(h *harness.History, _ *harness.Bystander) { h.Events[6].PID = 41 },
			eventOf + " event=wrong-pid topic=/tasks/exit"},
		"a delete with another status": {func(h *harness.History, _ *harness.Bystander) { h.Events[7].Status = 137 },
			"others bystander what=others-status by=TaskDelete status=made-up-137 reported=137"},

		"its last lines were lost": {func(_ *harness.History, b *harness.Bystander) { b.Output.Last = 4 },
			output + " output=missing"},
		"some were": {hole(30, 50), output + " output=missing"},
		"containerd does not hold a task's lines": {both(hole(30, 50), dies(40)), output + " output=missing"},
		"lines came twice": {func(_ *harness.History, b *harness.Bystander) { b.Output.Repeated = 1 },
			output + " output=repeated"},
		"a log has other times": {func(_ *harness.History, b *harness.Bystander) { b.Output.Misdated = 1 },
			output + " output=misdated"},
		"its last errors were lost": {func(_ *harness.History, b *harness.Bystander) {
			b.Stderr = &harness.Output{Last: 4, LastAt: at(40)}
		}, output + " output=missing stream=stderr"},
		"its errors came": {func(_ *harness.History, b *harness.Bystander) { b.Stderr = &b.Output }, ""},
		"its log was rotated": {func(_ *harness.History, b *harness.Bystander) {
			b.Rotations = []harness.Rotation{{At: at(10), Answered: at(11)}}
		}, ""},
		"its log was not rotated": {func(_ *harness.History, b *harness.Bystander) {
			b.Rotations = []harness.Rotation{{At: at(10), Answered: at(11), Late: 3}, {At: at(20), Answered: at(21), Late: 2}}
		}, output + " output=unrotated"},
		"others' lines came": {func(_ *harness.History, b *harness.Bystander) { b.Output.Foreign = 1 },
			output + " output=foreign"},
	} {
		t.Run(name, func(t *testing.T) {
			h := with(harness.TaskAPI)
			tc.change(&h, &h.Bystanders[0])
			v := Judge(h, catalogued)
			if got := says(v, tc.want); got != "" {
				t.Errorf("%s; want %q\n%s", got, tc.want, v)
			}
		})
	}
	for name, tc := range map[string]struct {
		change changes
		want   string
	}{
		"nothing": {func(*harness.History, *harness.Bystander) {}, ""},
		"its delete is not its shim's last word": {func(h *harness.History, _ *harness.Bystander) { drop(h, 7) },
			eventOf + " event=missing topic=/tasks/delete"},
		"lines that died with containerd": {both(hole(30, 50), dies(40)), ""},
		"lines that it stood still with": {both(hole(30, 50), func(h *harness.History, _ *harness.Bystander) {
			h.Stops = []harness.Stop{{From: at(40)}}
		}), ""},
		"lines that were lost long before": {both(hole(30, 50), dies(4000)), output},
		"lines that were written when it was up": {both(func(_ *harness.History, b *harness.Bystander) {
			b.Output.Holes = []harness.MissingLines{{From: 3, To: 33, After: at(30), Before: at(340)}}
		}, dies(40)), output},
		"none after its death": {both(func(_ *harness.History, b *harness.Bystander) {
			b.Payload.Wrote, b.Payload.ExitedAt = 60, at(600)
		}, dies(60)), output},
		"as many as it can hold": {both(func(_ *harness.History, b *harness.Bystander) {
			b.Output.Holes = []harness.MissingLines{{From: 3, To: 33, After: at(30), Before: at(340)}}
		}, dies(350)), ""},
	} {
		t.Run("pod/"+name, func(t *testing.T) {
			h := with(harness.CRI)
			tc.change(&h, &h.Bystanders[0])
			v := Judge(h, catalogued)
			if got := says(v, tc.want); got != "" {
				t.Errorf("%s; want %q\n%s", got, tc.want, v)
			}
		})
	}
}

func both(a, b func(*harness.History, *harness.Bystander)) func(*harness.History, *harness.Bystander) {
	return func(h *harness.History, y *harness.Bystander) { a(h, y); b(h, y) }
}

// asked adds a call for the bystander that failed at 20 ms.
func asked(verb, code string) func(*harness.History, *harness.Bystander) {
	return func(_ *harness.History, b *harness.Bystander) {
		err := failed(code, "x")
		err.Call = verb
		b.Calls = append(b.Calls, harness.Call{Verb: verb, Of: b.ID, At: at(20), Took: time.Millisecond, Err: err})
	}
}

func neverStarted(unprovoked bool) func(*harness.History, *harness.Bystander) {
	return func(h *harness.History, b *harness.Bystander) {
		asked("create", "Unknown")(h, b)
		b.Started, b.Calls[0].Unprovoked = time.Time{}, unprovoked
	}
}

func hole(from, to int) func(*harness.History, *harness.Bystander) {
	return func(_ *harness.History, b *harness.Bystander) {
		b.Output.Holes = []harness.MissingLines{{From: 3, To: 4, After: at(from), Before: at(to)}}
	}
}

func dies(ms int) func(*harness.History, *harness.Bystander) {
	return func(h *harness.History, _ *harness.Bystander) {
		h.Deaths = []daemon.Death{{At: at(ms), BackIn: time.Millisecond, Asked: true}}
	}
}

// A repeated failure is reported once, with its number.
func TestBystandersTellOnce(t *testing.T) {
	h := with(harness.TaskAPI)
	for range 3 {
		asked("State", "DeadlineExceeded")(&h, &h.Bystanders[0])
	}
	v := Judge(h, catalogued)
	if n := len(v.Violations()); n != 1 {
		t.Fatalf("%d findings: %v", n, v)
	}
	text := wording.Of(v.Violations()[0])
	for _, want := range []string{"task bystander", "State for it got no response within 1ms", "3 calls"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
}

// isTold adds one response of containerd about the bystander (a container that no fault
// targets), while the bystander runs.
func isTold(verb string, listed bool, state string, pid uint32) func(*harness.History, *harness.Bystander) {
	return func(_ *harness.History, b *harness.Bystander) {
		b.Told = append(b.Told, harness.BystanderTold{At: at(30), Verb: verb, Listed: listed, State: state, PID: pid})
	}
}

func podTold(verb, state string) func(*harness.History, *harness.Bystander) {
	return both(isTold(verb, true, state, 0), func(_ *harness.History, b *harness.Bystander) { b.API = harness.CRI })
}

// hadEnded lets the bystander end before a call, so that the response gives no finding of
// its own.
func hadEnded(h *harness.History, b *harness.Bystander) {
	b.Payload.ExitedAt = at(20)
	b.Output, b.Payload.Wrote = harness.Output{Last: 2, LastAt: at(20)}, 2
	isTold("State", true, "STOPPED", 51)(h, b)
}
