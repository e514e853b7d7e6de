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
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
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

// follow returns the impossible operations of a text, such as "kill c0 done; c0 RUNNING".
// The third word is a response. A call may have its times, such as 4-8. An object that
// is gone is seen as "gone".
func follow(t *testing.T, text string) string {
	t.Helper()
	objects := map[string]script.Object{"c0": c0, "c0/e0": e0, "pod": script.ThePod}
	texts := strings.Split(text, "; ")
	var ops []Op
	for n, text := range texts {
		words := append(strings.Fields(text), fmt.Sprintf("%d-%d", 2*n, 2*n+1))
		if len(words) == 3 {
			ops = append(ops, sees(2*n, objects[words[0]], strings.TrimSuffix(words[1], "gone")))
			continue
		}
		var from, to int
		must.Get(fmt.Sscanf(words[3], "%d-%d", &from, &to))(t)
		if words[2] == string(lost) {
			to = -1
		}
		ops = append(ops, call(from, to, words[0], objects[words[1]], harness.Response(words[2])))
	}
	found, ok := Follow(ops)
	must.Equal(t, ok, true, text, "could be followed")
	var impossible []string
	for _, i := range found {
		impossible = append(impossible, fmt.Sprint(i.Op, " ", texts[i.Op]))
	}
	return strings.Join(impossible, "; ")
}

// Each response that no order of events allows is found, and only that.
func TestFollow(t *testing.T) {
	for file, begun := range map[string]string{
		"testdata/task.txt": "create c0 done; start c0 done; ",
		"testdata/pod.txt":  "RunPodSandbox pod done; CreateContainer c0 done; StartContainer c0 done; ",
	} {
		must.Table(t, file, func(text string) string { return follow(t, begun+text) })
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

// CRI may report a container that has ended in any state until learnBound is over. The
// time begins anew with a restart of containerd.
func TestReportAfterTheEnd(t *testing.T) {
	ended := Moment{What: "it ended", At: at(10)}
	for _, tt := range []struct {
		state       string
		asked, back int
		stop        Moment
		want        string
	}{
		{criview.Running, 35, -1, Moment{}, ""},
		{criview.Unknown, 35, -1, Moment{}, ""},
		{criview.Running, 36, -1, Moment{}, fact.TooLate},
		{criview.Exited, 36, -1, Moment{}, ""},
		{criview.Unknown, 50, 30, Moment{}, ""},
		{criview.Unknown, 56, 30, Moment{}, fact.TooLate},
		{criview.Exited, 9, -1, Moment{}, fact.TooEarly},
		{criview.Running, 12, -1, Moment{At: at(11)}, fact.TooLate},
		{criview.Unknown, 12, -1, Moment{At: at(11)}, ""},
		{criview.Running, 11, -1, Moment{At: at(11)}, ""},
	} {
		r := Report{State: tt.state, Asked: at(tt.asked), Answered: at(tt.asked), Stop: tt.stop, Ended: ended.At,
			EndedBy: ended, Back: at(tt.back)}
		is, _ := r.Wrong()
		must.Equal(t, is, tt.want, fmt.Sprintf("%+v", tt))
	}
}
