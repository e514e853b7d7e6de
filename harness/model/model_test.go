package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/must"
)

var (
	c0 = script.Container(0)
	e0 = script.ExecOf(0, 0)
	t0 = time.Unix(1_700_000_000, 0)
)

// at is a time of a test, in seconds.
func at(s int) time.Time {
	if s < 0 {
		return time.Time{}
	}
	return t0.Add(time.Duration(s) * time.Second)
}

func call(from, to int, verb string, of script.Object, got harness.Response) Op {
	c := Call{Verb: verb, Of: of, Signal: "SIGKILL"}
	return Op{From: at(from), To: at(to),
		Next:        func(m Config) []Config { return m.Next(c, got) },
		NextDespite: func(m Config) []Config { return m.NextDespite(c, got) }}
}

func sees(when int, of script.Object, value string) Op {
	return Op{From: at(when), To: at(when),
		Next:        func(m Config) []Config { return m.Allows(of, value) },
		NextDespite: func(m Config) []Config { return m.Adopt(of, value) }}
}

const (
	done, no, absent, lost = harness.Done, harness.Refused, harness.NotFound, harness.Lost
)

// follows expects the impossible operations, by their indices.
func follows(t *testing.T, ops []Op, want string) {
	t.Helper()
	found, ok := Follow(ops)
	var got []string
	for _, i := range found {
		got = append(got, fmt.Sprint(i.Op))
	}
	if !ok || strings.Join(got, " ") != want {
		t.Errorf("impossible are %q, want %q (followed: %v)", got, want, ok)
	}
}

// Each response that no order of events allows is found, and only that.
func TestFollow(t *testing.T) {
	begun := []Op{call(0, 1, "create", c0, done), call(2, 3, "start", c0, done)}
	for name, tt := range map[string]struct {
		ops  []Op
		want string // the indices of the impossible
	}{
		"started twice":           {[]Op{call(4, 5, "start", c0, no)}, ""},
		"a second start succeeds": {[]Op{call(4, 5, "start", c0, done)}, "2"},
		"deleted while it runs":   {[]Op{call(4, 5, "delete", c0, done)}, "2"},
		"it runs":                 {[]Op{sees(4, c0, "RUNNING")}, ""},
		"it is called created":    {[]Op{sees(4, c0, "CREATED"), sees(5, c0, "RUNNING")}, "2 3"},
		"killed, and seen to run": {[]Op{call(4, 5, "kill", c0, done), sees(6, c0, "RUNNING"),
			sees(7, c0, "STOPPED")}, ""},
		"it stops without a reason": {[]Op{sees(6, c0, "STOPPED")}, "2"},
		"it runs again": {[]Op{call(4, 5, "kill", c0, done), sees(6, c0, "STOPPED"), sees(7, c0, "RUNNING")},
			"4"},
		"waited for": {[]Op{call(4, 5, "kill", c0, done), call(6, 7, "wait", c0, done),
			call(8, 9, "delete", c0, done), sees(10, c0, "")}, ""},
		"a wait returns too early": {[]Op{call(4, 5, "wait", c0, done)}, "2"},
		"paused": {[]Op{call(4, 5, "pause", c0, done), sees(6, c0, "PAUSED"), call(7, 8, "pause", c0, no),
			call(9, 10, "resume", c0, done), sees(11, c0, "RUNNING")}, ""},
		"a lost pause may have happened": {[]Op{call(4, -1, "pause", c0, lost), sees(6, c0, "RUNNING"),
			sees(7, c0, "PAUSED"), call(8, 9, "resume", c0, done)}, ""},
		"a lost pause happens once": {[]Op{call(4, -1, "pause", c0, lost), sees(6, c0, "PAUSED"),
			call(8, 9, "resume", c0, done), sees(10, c0, "PAUSED")}, "5"},
		"two at once, in either order": {[]Op{call(4, 8, "pause", c0, done), call(5, 7, "pause", c0, no)}, ""},
		"two at once, and both":        {[]Op{call(4, 8, "pause", c0, done), call(5, 7, "pause", c0, done)}, "2"},
		"one after the other":          {[]Op{call(4, 5, "pause", c0, no), call(6, 7, "pause", c0, done)}, "2"},
		"an exec": {[]Op{call(4, 5, "add", e0, done), sees(6, e0, "CREATED"), call(6, 7, "kill", e0, no),
			call(8, 9, "start", e0, done), call(10, 11, "delete", e0, no), call(12, 13, "kill", e0, done),
			call(14, 15, "wait", e0, done), call(16, 17, "delete", e0, done), call(18, 19, "delete", e0, absent)}, ""},
		"an exec of a paused task": {[]Op{call(4, 5, "add", e0, done), call(6, 7, "pause", c0, done),
			sees(8, e0, "PAUSED"), call(9, 10, "start", e0, no), call(11, 12, "add", e0, harness.Exists)}, ""},
		"an exec dies with its task": {[]Op{call(4, 5, "add", e0, done), call(6, 7, "start", e0, done),
			call(8, 9, "kill", c0, done), call(10, 11, "wait", e0, done), call(12, 13, "delete", c0, done),
			sees(14, e0, "")}, ""},
		"an exec ends before its dying task": {[]Op{call(4, 5, "add", e0, done), call(6, 7, "start", e0, done),
			call(8, 9, "end", c0, done), sees(10, c0, "RUNNING"), sees(11, e0, "STOPPED"), sees(12, c0, "RUNNING"),
			call(13, 14, "wait", c0, done), sees(15, c0, "STOPPED")}, ""},
		"an exec ends for no reason": {[]Op{call(4, 5, "add", e0, done), call(6, 7, "start", e0, done),
			sees(8, e0, "STOPPED")}, "4"},
		"a restart deletes what has ended": {[]Op{call(4, 5, "kill", c0, done), call(6, 7, "wait", c0, done),
			call(8, 9, "restart", c0, done), call(10, 11, "delete", c0, absent)}, ""},
		"a restart keeps what has ended": {[]Op{call(4, 5, "kill", c0, done), call(6, 7, "wait", c0, done),
			call(8, 9, "restart", c0, done), call(10, 11, "delete", c0, done)}, ""},
		"a restart keeps what runs": {[]Op{call(4, 5, "restart", c0, done), sees(6, c0, "")}, "3"},
	} {
		t.Run(name, func(t *testing.T) { follows(t, slices.Concat(begun, tt.ops), tt.want) })
	}
}

// A SIGKILL for a stopped container is refused, but not in the node's PID namespace.
func TestKillOfAStoppedTask(t *testing.T) {
	c := Config{Task: Process{State: Stopped}}
	for _, tt := range []struct {
		call Call
		want harness.Response
	}{
		{Call{Verb: "kill", Of: c0, Signal: "SIGKILL"}, absent},
		{Call{Verb: "kill", Of: c0, Signal: "SIGKILL", SharedPID: true}, done},
		{Call{Verb: "kill", Of: c0, Signal: "SIGTERM", SharedPID: true}, absent},
		{Call{Verb: "pause", Of: c0, SharedPID: true}, no},
	} {
		if got, next := c.Do(tt.call); got != tt.want || next.State(c0) != Stopped {
			t.Errorf("%+v: %s, %s", tt.call, got, next.State(c0))
		}
	}
}

// The same of a pod and a container in it.
func TestFollowPods(t *testing.T) {
	pod := script.ThePod
	begun := []Op{call(0, 1, "RunPodSandbox", pod, done), call(2, 3, "CreateContainer", c0, done),
		call(4, 5, "StartContainer", c0, done)}
	const running, exited, ready = "CONTAINER_RUNNING", "CONTAINER_EXITED", "SANDBOX_READY"
	for name, tt := range map[string]struct {
		ops  []Op
		want string // the indices of the impossible
	}{
		"run twice":                {[]Op{call(6, 7, "RunPodSandbox", pod, no), sees(8, pod, ready)}, ""},
		"a second pod of the name": {[]Op{call(6, 7, "RunPodSandbox", pod, done)}, "3"},
		"started twice":            {[]Op{call(6, 7, "StartContainer", c0, no), sees(8, c0, running)}, ""},
		"a refused start ends it":  {[]Op{call(6, 7, "StartContainer", c0, no), sees(8, c0, exited)}, "4"},
		"the name is taken":        {[]Op{call(6, 7, "CreateContainer", c0, no), sees(8, c0, running)}, ""},
		"a second one of the name": {[]Op{call(6, 7, "CreateContainer", c0, done)}, "3"},
		"stopped twice": {[]Op{call(6, 7, "StopContainer", c0, done),
			call(8, 9, "StopContainer", c0, done)}, ""},
		"stopped, and it runs":       {[]Op{call(6, 7, "StopContainer", c0, done), sees(8, c0, running)}, "4"},
		"no exec in what has exited": {[]Op{call(6, 7, "StopContainer", c0, done), call(8, 9, "ExecSync", c0, no)}, ""},
		"a removal twice": {[]Op{call(6, 7, "RemoveContainer", c0, done), call(8, 9, "RemoveContainer", c0, done),
			sees(10, c0, ""), call(11, 12, "StartContainer", c0, absent)}, ""},
		"a stop of what is gone": {[]Op{call(6, 7, "RemoveContainer", c0, done),
			call(8, 9, "StopContainer", c0, absent)}, "4"},
		"the pod stops its containers": {[]Op{call(6, 7, "StopPodSandbox", pod, done), sees(8, c0, exited),
			sees(9, pod, "SANDBOX_NOTREADY"), call(10, 11, "StopPodSandbox", pod, done)}, ""},
		"a stopped pod is ready": {[]Op{call(6, 7, "StopPodSandbox", pod, done), sees(8, pod, ready)}, "4"},
		"nothing is created in a stopped pod": {[]Op{call(6, 7, "RemoveContainer", c0, done),
			call(8, 9, "StopPodSandbox", pod, done), call(10, 11, "CreateContainer", c0, done)}, "5"},
		"a start in a stopped pod ends it": {[]Op{call(6, 7, "RemoveContainer", c0, done),
			call(8, 9, "CreateContainer", c0, done), call(10, 11, "StopPodSandbox", pod, done),
			sees(12, c0, "CONTAINER_CREATED"), call(13, 14, "StartContainer", c0, no), sees(15, c0, exited)}, ""},
		"the pod takes its containers with it": {[]Op{call(6, 7, "RemovePodSandbox", pod, done), sees(8, c0, ""),
			sees(9, pod, ""), call(10, 11, "RunPodSandbox", pod, done), call(12, 13, "CreateContainer", c0, done)}, ""},
		"a restart changes nothing": {[]Op{call(6, 7, "StopContainer", c0, done), call(8, 9, "restart", c0, done),
			sees(10, c0, exited), sees(11, pod, ready)}, ""},
		"a lost stop may have happened": {[]Op{call(6, -1, "StopContainer", c0, lost), sees(8, c0, running),
			sees(9, c0, exited)}, ""},
	} {
		t.Run(name, func(t *testing.T) { follows(t, slices.Concat(begun, tt.ops), tt.want) })
	}
}

// The response to a create in a stopped pod depends on the release.
func TestCreateInAStoppedPod(t *testing.T) {
	for release, want := range map[string]harness.Response{
		"v1.7.35": absent, "v2.0.14": done, "v2.2.5": done, "v2.2.6": no, "v2.3.2": done, "v2.3.3": no, "v2.4.2": no,
		"": no, "src": no,
	} {
		got, next := Config{Pod: NotReady}.Do(Call{Verb: "CreateContainer", Of: c0, Release: release})
		if got != want || (next.Task.State == Created) != (want == done) {
			t.Errorf("%s: %s, and it is %s; want %s", release, got, next.Task.State, want)
		}
	}
}

// If more calls are in flight than the model can follow, it says so.
func TestFollowHasALimit(t *testing.T) {
	var ops []Op
	for range maxInFlight + 1 {
		ops = append(ops, call(0, -1, "create", c0, lost))
	}
	if _, ok := Follow(ops); ok {
		t.Error("all were followed")
	}
}

func TestExpect(t *testing.T) {
	expects(t, harness.Workload{
		Containers: []harness.Container{{Exit: 7, Execs: []harness.ExecSpec{{NoSuchCommand: true}}}},
		Script: []string{"create c0", "wait c0", "start c0", "start c0", "exec c0/e0", "wait c0/e0", "end c0", "wait c0",
			"restart containerd", "delete c0"},
	}, "done created", " created", "done running", "refused running", "refused created", "done created",
		"done running|stopped", "done stopped", "done none", "not-found none")
	expects(t, harness.Workload{
		API: harness.CRI, Containers: []harness.Container{{Exit: 7, Execs: []harness.ExecSpec{{}}},
			{NoSuchCommand: true}, {Execs: []harness.ExecSpec{{NoSuchCommand: true}}, Stays: true}},
		Script: []string{"run pod", "create c2", "start c2", "execsync c2/e0", "create c0", "create c0", "start c0",
			"execsync c0/e0", "create c1", "start c1",
			"end c0", "wait c0", "execsync c0/e0", "stop pod", "remove pod", "stop pod"},
	}, "done ready", "done created", "done running", "refused none",
		"done created", "refused created", "done running", "done none", "done created", "refused exited",
		"done exited|running", "done exited", "refused none", "done not ready", "done none", "done none")
}

// expects fails the test unless the steps of a workload are expected to come to results.
func expects(t *testing.T, w harness.Workload, want ...string) {
	t.Helper()
	steps := must.Get(Expect(w))(t)
	for n, all := range steps {
		var responses []string
		for _, r := range all[0].Responses {
			responses = append(responses, string(r))
		}
		got := strings.Join(responses, "|") + " " + strings.Join(all[0].States, "|")
		must.Equal(t, got, want[n], "step", n+1, w.Script[n])
	}
}

// Each verb about an object has a row in a table of its client, or says why not. Each row
// is that of a verb.
func TestEveryVerbHasARow(t *testing.T) {
	rows := map[string]bool{}
	for _, v := range script.Verbs {
		rows[v.Call], rows[v.PodCall], rows[v.Name] = true, true, v.NoRow == ""
		for _, by := range []script.Client{script.Task, script.CRI} {
			for _, of := range []script.Object{script.ThePod, c0, e0, script.AttachedTo(0, 0)} {
				if v.By&by != 0 && of.Is(v.ObjectKinds(by)) && !responds(v.Name, by, of) {
					t.Errorf("%s %s: no response in any state: add a row to a table, or NoRow to the verb", v.Name, of)
				}
			}
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(tasks)), slices.Collect(maps.Keys(execs)),
		slices.Collect(maps.Keys(ofTask)), slices.Collect(maps.Keys(pods)), slices.Collect(maps.Keys(containers)),
		slices.Collect(maps.Keys(inPod))) {
		if !rows[name] {
			t.Errorf("the row %s belongs to no verb", name)
		}
	}
}

// responds reports whether a call has a response in any state.
func responds(verb string, by script.Client, of script.Object) bool {
	states := []Config{{}, {Task: Process{State: Running}}}
	if by == script.CRI {
		verb, states = script.CRICall(verb, of), []Config{{Pod: Ready}}
	}
	return slices.ContainsFunc(states, func(c Config) bool {
		response, _ := c.Do(Call{Verb: verb, Of: of})
		return response != ""
	})
}

// A fault can break the clean-up of an ended task at a restart, so the task may stay.
func TestARestartAfterAFault(t *testing.T) {
	ended := Config{Task: Process{State: Stopped}}
	after := ended.AfterFault(Call{Verb: "restart"}, harness.Done)
	for _, want := range []State{Stopped, None} {
		if !slices.ContainsFunc(after, func(c Config) bool { return c.Task.State == want }) {
			t.Errorf("want %v among %v", want, after)
		}
	}
}
