package harness

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe"
)

func TestAWorkloadThatDoesNotRunByItselfIsNotJudged(t *testing.T) {
	hit := func(point, err string, fault int) failpoints.Hit {
		return failpoints.Hit{Hit: probe.Hit{Point: point, Err: err}, Fault: fault}
	}
	const created, started, shutdown = "rpc:shim:Task.Create:exit", "rpc:shim:Task.Start:exit", "rpc:shim:Task.Shutdown:entry"
	rpc := Case{Plan: failpoints.Plan{{At: failpoints.Point{Kind: failpoints.RPC}}}}
	signal := Case{Plan: failpoints.Plan{{At: failpoints.Point{Kind: failpoints.Proc}}}}
	fake := rpc
	fake.Workload.Fakeshim = "plain"
	for _, tc := range []struct {
		name string
		c    Case
		hits []failpoints.Hit
		want bool // it is judged
	}{
		{"all went well", rpc, []failpoints.Hit{hit(created, "", -1), hit(started, "", -1), hit(shutdown, "", 0)}, true},
		{"create failed, and only then a fault fired", rpc, []failpoints.Hit{hit(created, "no devices", -1), hit(shutdown, "", 0)}, false},
		{"start failed, nothing fired", rpc, []failpoints.Hit{hit(created, "", -1), hit(started, "no", -1)}, false},
		{"a plain case", Case{}, []failpoints.Hit{hit(created, "no", -1)}, false},
		{"the fault failed it", rpc, []failpoints.Hit{hit(created, "injected", 0)}, true},
		{"a fault came before", rpc, []failpoints.Hit{hit("rpc:shim:Task.Create:entry", "", 0), hit(created, "cancelled", -1)}, true},
		{"another call failed", rpc, []failpoints.Hit{hit("rpc:shim:Task.Delete:exit", "not found", -1)}, true},
		{"a signal's moment is not known", signal, []failpoints.Hit{hit(created, "killed", -1)}, true},
		{"a shim that misbehaves", fake, []failpoints.Hit{hit(created, "told to", -1)}, true},
	} {
		if err := unhurt(tc.c, tc.hits); (err == nil) != tc.want {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
