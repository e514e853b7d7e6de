package harness

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/oracle"
)

// aKept has something in every list.
func aKept() Kept {
	at, status := time.Unix(1_000_000, 42).UTC(), uint32(7)
	h := History{
		Case: Case{Name: "x", Workload: Workload{API: CRI, Containers: []Container{{Exit: 7}}, Deadline: time.Minute},
			Plan: failpoints.Plan{
				failpoints.PauseAt("rpc:shim:Task.Create:entry", failpoints.Steps("kill containerd", "release")...),
			}},
		Version: "v2.4.2", Reached: Completed, Began: at, Took: time.Second,
		Problems: []Problem{{Kind: ByMiss, Miss: MissUnobserved, Text: "x"}},
		Instances: []Instance{
			{Name: "c0", ID: "c0", Spec: Container{Exit: 7}, PID: 41, Begun: at, MustTell: []oracle.Observer{oracle.ByWait}},
		},
		Calls: []Call{
			{Who: "client", Verb: "create", Of: "c0", At: at, Took: 5, Err: &oracle.Failed{Code: "Unknown", Text: "x"}},
		},
		Signals:  []SentSignal{{Container: "c0", Signal: 9, At: at}},
		Reported: []oracle.Observation{{Container: "c0", Observer: oracle.ByWait, Status: 7, At: at}},
		Firings:  []Firing{{Text: "x", Count: 1, Proof: "y"}},
		Hits: []failpoints.Hit{
			{Hit: probe.Hit{Point: "rpc:shim:Task.Create:entry", Status: &status}, Who: "shim", Time: at, Fault: -1},
		},
		Kills:  []Kill{{PID: 42, Who: "shim", At: at}},
		Deaths: []daemon.Death{{At: at, Code: 137, BackIn: time.Second, PID: 2, Asked: true}},
		Exits:  []Exit{{PID: 41, Code: 7, At: at}},
		Events: []oracle.TaskEvent{
			{Topic: "/tasks/exit", Container: "c0", PID: 41, Status: 7, Exited: at, Sent: at, Seen: at},
		},
		Gaps:    []oracle.Gap{{From: at}},
		Flushed: &Flushed{Events: 1, Hits: 1, Reported: 1},
		Before:  &oracle.Inventory{Processes: []oracle.Process{{PID: 1, SocketInodes: []uint64{9}}}},
		After:   &Look{At: at, Inventory: &oracle.Inventory{Daemon: &oracle.Daemon{Namespaces: []string{"x"}}}},
		Reuse:   &Reuse{Err: &oracle.Failed{Code: "AlreadyExists"}},
		Notes:   []Note{{At: at, Who: "client", Text: "state created"}},
	}
	f := oracle.Finding{
		Invariant: oracle.Leak,
		Class:     oracle.ClassShim,
		Facts:     oracle.Facts{oracle.FactTask: oracle.None},
	}
	return Kept{Verdict: Verdict{Name: "x", Outcome: Violated, Findings: []oracle.Finding{f}}, History: h}
}

func TestAHistoryComesBack(t *testing.T) {
	k := aKept()
	text, err := k.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := DecodeKept("x", text)
	if err != nil || !reflect.DeepEqual(back, k) {
		t.Errorf("%+v\nwant\n%+v\n%v", back, k, err)
	}
}

func TestAHistoryThatIsNoneIsRefused(t *testing.T) {
	whole, err := aKept().Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ text, says string }{
		"cut off": {string(whole[:len(whole)/2]), "was it cut off?"},
		"empty":   {"", "was it cut off?"},
		"edited": {strings.Replace(string(whole), `"count":1`, `"count":2`, 1),
			"it was changed after it was written"},
		"another version":    {strings.Replace(string(whole), `"format":2`, `"format":9`, 1), "its form has version 9"},
		"another program's":  {`{"kind": "Pod", "apiVersion": "v1"}`, "no history of shimquake"},
		"no JSON":            {"containerd: started\n", "no history"},
		"a field too many":   {edited(t, `{"case":{"name":"x"},"colour":1}`), "cannot be read"},
		"flushed too much":   {edited(t, `{"case":{"name":"x"},"flushed":{"events":9}}`), "flushed.events is 9 of 0"},
		"a case that is bad": {edited(t, `{"case":{"name":"X Y"}}`), "lower-case"},
	} {
		err := EachKept("some.json", strings.NewReader(tc.text), func(Kept) error { return nil })
		var in *InputError
		if !errors.As(err, &in) || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want one line that says %q", name, err, tc.says)
		}
	}
}

// edited is a Kept of this history, with a digest that fits.
func edited(t *testing.T, history string) string {
	t.Helper()
	var b bytes.Buffer
	b.WriteString(
		`{"shimquake":"history","format":2,"digest":"` + digest(
			[]byte(history),
		) + `","verdict":{},"history":` + history + `}`,
	)
	return b.String()
}

func FuzzEachKept(f *testing.F) {
	whole, err := aKept().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"shimquake":"history","format":2}`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		_ = EachKept("x", bytes.NewReader(text), func(Kept) error { return nil }) // must not panic
	})
}
