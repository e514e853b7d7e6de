package harness

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/must"
)

func TestPhases(t *testing.T) {
	sec := func(s int) time.Time { return time.Unix(int64(s), 0) }
	ps := []since[string]{{sec(10), "create"}, {sec(20), "load"}, {sec(30), "create"}, {sec(40), "delete"}}
	for s, want := range map[int]string{1: "load", 10: "create", 25: "load", 39: "create", 99: "delete"} {
		must.Equal(t, at(ps, sec(s), load), want, "at", s)
	}
}

func TestContainerdLoadsUntilItAnswers(t *testing.T) {
	sec := func(s int) time.Time { return time.Unix(int64(s), 0) }
	calls := []since[string]{{sec(10), "create"}, {sec(22), "exit"}, {sec(24), "delete"}, {sec(40), "create"}}
	ps := loading(calls, []daemon.Death{{At: sec(20), BackIn: 10 * time.Second}, {At: sec(50)}})
	for s, want := range map[int]string{1: "load", 19: "create", 20: "load", 23: "load", 29: "load", 30: "delete",
		40: "create", 60: "load"} {
		must.Equal(t, at(ps, sec(s), load), want, "at", s)
	}
}

// A fault during a call about an exec meets a running container. So it has the same path
// and the same known findings as a fault while the client waits for the container.
func TestAnExecBelongsToARunningContainer(t *testing.T) {
	for verb, want := range map[string]string{
		"exec": "exit", "add": "exit", "ExecSync": "exit",
		"pause": "exit", "resume": "exit", "kill": "exit",
		"create": "create", "start": "start", "delete": "delete", "unheard of": "",
	} {
		must.Equal(t, PathOf(verb), want, verb)
	}
}

// A shim may exit after its last Shutdown request. A shim with another container gets one
// more request. A containerd that is restarted exits, too.
func TestPassesOfAProcessThatEnds(t *testing.T) {
	const shutdown, exit = "rpc:shim:Task.Shutdown:entry", "rpc:shim:Task.Shutdown:exit"
	const list = "rpc:containerd:Events.Forward:entry"
	h := History{
		Run: Run{Done: time.UnixMilli(100)},
		Log: Log{
			Deaths: []daemon.Death{
				{PID: 9, At: time.UnixMilli(9), After: 2 * time.Millisecond, Asked: true}},
		},
	}
	for n, hit := range []struct {
		point string
		pid   int
	}{{shutdown, 7}, {exit, 7}, {shutdown, 8}, {shutdown, 7}, {exit, 8}, {exit, 7}, {list, 9}, {list, 9}, {list, 9}} {
		h.Hits = append(h.Hits, failpoints.Hit{
			Hit: probe.Hit{Point: hit.point}, PID: hit.pid, Who: "shim", Time: time.UnixMilli(int64(n))})
	}
	h.Calls = []Call{{Who: "client", Verb: "delete", At: time.UnixMilli(0)}}
	passes := must.Get(h.TracedHits())(t)
	var got []bool
	for _, p := range passes {
		got = append(got, p.Ending)
	}
	must.Equal(t, got, []bool{false, false, false, false, true, true, false, false, true})
}

func TestPathAt(t *testing.T) {
	at := func(ms int64) time.Time { return time.UnixMilli(ms) }
	h := History{
		Log: Log{
			Calls: []Call{
				{Who: "client", Verb: "create", At: at(10)}, {Who: "client", Verb: "start", At: at(20)},
				{Who: "oracle", Verb: "inventory", At: at(30)}, {Who: "client", Verb: "delete", At: at(40)},
			},
			Deaths: []daemon.Death{{At: at(45), BackIn: 5 * time.Millisecond}},
		},
	}
	for ms, want := range map[int64]string{
		5: "load", 10: "create", 25: "start", 35: "", 44: "delete", 47: "load", 51: "delete",
	} {
		must.Equal(t, h.PathAt(at(ms)), want, "at ms", ms)
	}
}

// A payload may exit before the response to Start. Its exit is handled on the path exit,
// unless another payload may still exit.
func TestThePathAfterTheExit(t *testing.T) {
	at := func(ms int64) time.Time { return time.UnixMilli(ms) }
	exited := payload.Truth{Exited: true, ExitedAt: at(25)}
	for _, tt := range []struct {
		instances []Instance
		want      []string
	}{
		{[]Instance{{Payload: exited}}, []string{"start", "exit", "exit", "delete"}},
		{[]Instance{{Payload: exited}, {}}, []string{"start", "start", "exit", "delete"}},
		{nil, []string{"start", "start", "exit", "delete"}},
	} {
		h := History{
			Run:       Run{Done: at(100)},
			Instances: tt.instances,
			Log: Log{
				Calls: []Call{{Who: "client", Verb: "start", At: at(10)},
					{Who: "client", Verb: "wait", At: at(30)}, {Who: "client", Verb: "delete", At: at(40)}},
			},
		}
		for _, ms := range []int64{20, 26, 35, 45} {
			h.Hits = append(h.Hits, failpoints.Hit{Hit: probe.Hit{Point: "rpc:containerd:Task.Kill:entry"}, Time: at(ms)})
		}
		hits := must.Get(h.TracedHits())(t)
		var got []string
		for _, p := range hits {
			got = append(got, p.Path)
		}
		must.Equal(t, got, tt.want, len(tt.instances), "payloads")
	}
}
