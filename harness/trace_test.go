package harness

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
)

// TestTrace looks at where a plain lifecycle and one with a restart pass the points whose place everybody knows.
func TestTrace(t *testing.T) {
	if testing.Short() {
		t.Skip("runs containerd")
	}
	var r Runner
	for name, w := range map[string]Workload{
		"plain":   {},
		"restart": {Restart: true, Containers: []Container{{Exit: 3}, {Exit: 7}}},
	} {
		t.Run(name, func(t *testing.T) {
			trace, err := r.Trace(t.Context(), Case{Name: "trace", Workload: w})
			if trace.Verdict.Unable {
				t.Skip(err) // not root, or no world to be had
			}
			if err != nil {
				t.Fatal(err)
			}
			if trace.Verdict.Outcome != Held {
				t.Fatal(trace.Verdict)
			}
			for point, path := range map[string]string{
				"rpc:containerd:Task.Create:entry": "create", "rpc:shim:Task.Start:entry": "start", "rpc:shim:Task.Wait:exit": "exit",
				"rpc:shim:Task.Delete:entry": "delete", "rpc:containerd:Task.Shutdown:entry": "delete",
			} {
				at := failpoints.MustPoint(point)
				if !slices.ContainsFunc(trace.Passes, func(p Pass) bool { return p.Point == at && p.Path == path }) {
					t.Errorf("%s was not passed on the path %s", point, path)
				}
			}
			for _, p := range trace.Passes {
				if strings.HasPrefix(p.Point.What, "tasks.local.List") {
					t.Errorf("%s, on the path %s: only the oracle lists tasks", p.Point, p.Path)
				}
			}
			loads := slices.ContainsFunc(trace.Passes, func(p Pass) bool { return p.Path == "load" && p.Point.Kind == failpoints.RPC })
			if loads != w.Restart {
				t.Errorf("ttrpc calls while containerd loads: %v", loads)
			}
		})
	}
}

func TestPhases(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	ps := phases{{at(10), "create"}, {at(20), "load"}, {at(30), "create"}, {at(40), "delete"}}
	for s, want := range map[int]string{1: "load", 10: "create", 25: "load", 39: "create", 99: "delete"} {
		if got := ps.at(at(s)); got != want {
			t.Errorf("at %d: %s, want %s", s, got, want)
		}
	}
}

func TestContainerdLoadsUntilItAnswers(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	calls := phases{{at(10), "create"}, {at(22), "exit"}, {at(24), "delete"}, {at(40), "create"}}
	ps := calls.loading([]daemon.Death{{At: at(20), BackIn: 10 * time.Second}, {At: at(50)}})
	for s, want := range map[int]string{1: "load", 19: "create", 20: "load", 23: "load", 29: "load", 30: "delete", 40: "create", 60: "load"} {
		if got := ps.at(at(s)); got != want {
			t.Errorf("at %d: %s, want %s", s, got, want)
		}
	}
}
