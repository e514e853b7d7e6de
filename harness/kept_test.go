package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// aKept returns a Kept with an entry in every list.
func aKept() Kept {
	at, status := time.Unix(1_000_000, 42).UTC(), uint32(7)
	h := History{
		Case: Case{Name: "x", Workload: Workload{API: CRI, Containers: []Container{{Exit: 7}}, TimeLimit: time.Minute},
			Plan: failpoints.Plan{
				failpoints.PauseAt("rpc:shim:Task.Create:entry", failpoints.Steps("kill containerd", "release")...),
			}},
		Run: Run{
			Version:  "v2.4.2",
			Reached:  Completed,
			Began:    at,
			Took:     time.Second,
			Problems: []Problem{{Kind: ByMiss, Miss: MissUnobserved, Text: "x"}},
			Flushed:  &Flushed{Events: 1, Hits: 1, Reported: 1},
		},
		Instances: []Instance{
			{Name: "c0", ID: "c0", Spec: Container{Exit: 7}, PID: 41, Begun: at, MustTell: []exit.Observer{exit.ByWait}},
		},
		Log: Log{
			Calls: []Call{
				{Who: "client", Verb: "create", Of: "c0", At: at, Took: 5, Err: &callerr.Failed{Code: "Unknown", Text: "x"}},
			},
			Signals:  []SentSignal{{Container: "c0", Signal: 9, At: at}},
			Reported: []exit.Observation{{Container: "c0", Observer: exit.ByWait, Status: 7, At: at}},
			Hits: []failpoints.Hit{
				{Hit: probe.Hit{Point: "rpc:shim:Task.Create:entry", Status: &status}, Who: "shim", Time: at, Fault: -1},
			},
			Kills:  []Kill{{PID: 42, Who: "shim", At: at}},
			Deaths: []daemon.Death{{At: at, Code: 137, BackIn: time.Second, PID: 2, Asked: true}},
			Exits:  []Exit{{PID: 41, Code: 7, At: at}},
			Events: []event.Task{
				{Topic: "/tasks/exit", Container: "c0", PID: 41, Status: 7, Exited: at, Sent: at, Seen: at},
			},
			Gaps:  []event.Gap{{From: at}},
			Notes: []Note{{At: at, Who: "client", Text: "state created"}},
		},
		Firings: []Firing{{Text: "x", Count: 1, Proof: "y"}},
		Before:  &inventory.Inventory{Processes: []inventory.Process{{PID: 1, SocketInodes: []uint64{9}}}},
		After:   &Inspection{At: at, Inventory: &inventory.Inventory{Daemon: &inventory.Daemon{Namespaces: []string{"x"}}}},
		Reuse:   &Reuse{Err: &callerr.Failed{Code: "AlreadyExists"}},
	}
	f := finding.Finding{
		Invariant: finding.Leak,
		Class:     finding.ClassShim,
		Facts:     fact.Facts{fact.Task: fact.None},
	}
	return Kept{Verdict: Verdict{Name: "x", Outcome: Violated, Findings: []finding.Finding{f}}, History: h}
}

func TestAHistoryComesBack(t *testing.T) {
	k := aKept()
	text := must.Get(k.Encode())(t)
	back := must.Get(DecodeKept("x", text))(t)
	must.Equal(t, back, k)
}

func TestAHistoryThatIsNoneIsRefused(t *testing.T) {
	whole := must.Get(aKept().Encode())(t)
	for name, tc := range map[string]struct{ text, says string }{
		"cut off": {string(whole[:len(whole)/2]), "no complete history"},
		"empty":   {"", "no complete history"},
		"edited": {strings.Replace(string(whole), `"count":1`, `"count":2`, 1),
			"was changed after it was written"},
		"another version":   {strings.Replace(string(whole), `"format":6`, `"format":9`, 1), "format 9"},
		"another program's": {`{"kind": "Pod", "apiVersion": "v1"}`, "not a history of shimquake"},
		"no JSON":           {"containerd: started\n", "not a history, "},
		"a field too many":  {present(t, `{"case":{"name":"x"},"colour":1}`, `{}`), `unknown field "colour"`},
		"a record of no kind": {present(t, `{"case":{"name":"x"},"log":[{"colour":{}}]}`, `{}`),
			`unknown field "colour"`},
		"a record without a kind": {present(t, `{"case":{"name":"x"},"log":[{}]}`, `{}`), "must have one kind"},
		"a record of two kinds": {present(t, `{"case":{"name":"x"},"log":[{"kill":{},"exit":{}}]}`, `{}`),
			"must have one kind"},
		"a record of CRI without CRI": {present(t, `{"case":{"name":"x"},"log":[{"criDone":{}}]}`, `{}`),
			"need the key cri"},
		"too many records": {present(t, `{"case":{"name":"x"},"log":[{"kill":{}}`+
			strings.Repeat(`,{"kill":{}}`, mostEntries)+`]}`, `{}`), "has 20001 records apart from hits"},
		"an older format": {edited(t, 3, `{"case":{"name":"x"}}`, `{}`), "use the version that wrote it"},
		"a verdict that is none": {present(t, `{"case":{"name":"x"}}`, `{"findings":[{"facts":1}]}`),
			"the verdict cannot be decoded"},
		"flushed too much": {present(t, `{"case":{"name":"x"},"flushed":{"events":9}}`, `{}`),
			"flushed.events is 9, but the list has 0"},
		"a negative duration": {present(t, `{"case":{"name":"x"},"log":[{"call":{"tookNs":-1}}]}`, `{}`), "is negative"},
		"a negative time of an observation": {
			present(t, `{"case":{"name":"x"},"log":[{"observed":{"tookNs":-1}}]}`, `{}`),
			"is negative"},
		"a negative stall": {present(t, `{"case":{"name":"x"},"log":[{"stall":{"forNs":-1}}]}`, `{}`), "is negative"},
		"many instances": {present(t, `{"case":{"name":"x"},"Instances":[{}`+strings.Repeat(",{}", 1000)+`]}`, `{}`),
			"has 1001 instances"},
		"a case that is bad": {present(t, `{"case":{"name":"X Y"}}`, `{}`), "lower-case"},
	} {
		err := EachKept("some.json", strings.NewReader(tc.text), func(Kept) error { return nil })
		var in *InputError
		if !errors.As(err, &in) || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want one line that says %q", name, err, tc.says)
		}
	}
}

// present returns the text of a Kept in the present format.
func present(t *testing.T, history, verdict string) string {
	t.Helper()
	return edited(t, HistoryFormat, history, verdict)
}

// edited returns the text of a Kept with this format, history and verdict, and with a
// matching digest.
func edited(t *testing.T, format int, history, verdict string) string {
	t.Helper()
	return fmt.Sprintf(`{"shimquake":"history","format":%d,"digest":"%s","verdict":%s,"history":%s}`,
		format, digest([]byte(history)), verdict, history)
}

// A container's JSON has the keys of a case, and each value survives a round trip.
func TestAContainerComesBack(t *testing.T) {
	text := must.Get(json.Marshal(Container{Exit: 7, IgnoresTerm: true}))(t)
	must.Equal(t, string(text), `{"exit":7,"ignoresTerm":true}`)
	rapid.Check(t, func(t *rapid.T) {
		c, back := rapid.Make[Container]().Draw(t, "container"), Container{}
		text, err := json.Marshal(c)
		if err == nil {
			err = strict(text, &back)
		}
		if err != nil || !reflect.DeepEqual(back, c) {
			t.Errorf("%s: %+v, %v", text, back, err)
		}
	})
}

func FuzzEachKept(f *testing.F) {
	whole := must.Get(aKept().Encode())(f)
	f.Add(whole)
	f.Add([]byte(`{"shimquake":"history","format":5}`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		_ = EachKept("x", bytes.NewReader(text), func(Kept) error { return nil }) // must not panic
	})
}
