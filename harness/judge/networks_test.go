package judge

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/cni"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// Each row changes the history of a pod with a network of its own.
func TestNetworkRules(t *testing.T) {
	const netns = "/run/netns/cni-1"
	call := func(command string, ms int) inventory.NetworkCall {
		c := inventory.NetworkCall{
			Command: command, Network: cni.Network, Interface: "eth0", Container: "pod", Netns: "/var" + netns, At: at(ms),
		}
		if command == inventory.CNIAdd {
			c.Address = "10.88.0.2/16"
		}
		return c
	}
	calls := func(all ...inventory.NetworkCall) func(*harness.History) {
		return func(h *harness.History) { h.After.Inventory.Networks = all }
	}
	both := []inventory.NetworkCall{call(inventory.CNIAdd, 1), call(inventory.CNIDel, 45)}
	gone := func() func(*harness.History) {
		del := both[1]
		del.Gone = true
		return calls(both[0], del)
	}
	stopAt := func(ms int) func(*harness.History) {
		return func(h *harness.History) {
			h.Calls = append(
				h.Calls,
				harness.Call{Who: "client", Verb: "StopPodSandbox", At: at(ms), Took: time.Millisecond},
			)
		}
	}
	says10 := func(ip string) func(*harness.History) {
		return func(h *harness.History) { h.CRI.Sandboxes[0].IP = ip }
	}
	beside := func(released int) func(*harness.History) {
		return func(h *harness.History) {
			other := with(harness.CRI)
			b := other.Bystanders[0]
			b.Namespace, b.Sandbox, b.Started, b.Released = "k8s.io", "b", at(1), at(released)
			b.Payload.ExitedAt, b.Payload.Wrote = at(released+1), released/10
			b.Reported[0].At = b.Payload.ExitedAt
			b.Output = harness.Output{Last: released / 10, LastAt: at(released)}
			h.Bystanders = append(h.Bystanders, b)
			for _, e := range other.Events[len(other.Events)-4:] { // the events of the bystander
				if e.Namespace = "k8s.io"; !e.Exited.IsZero() {
					e.Exited = b.Payload.ExitedAt
				}
				h.Events = append(h.Events, e)
			}
			h.Flushed.Events = len(h.Events)
			add, del := call(inventory.CNIAdd, 0), call(inventory.CNIDel, 30)
			add.Container, del.Container = "b", "b"
			h.After.Inventory.Networks = append(h.After.Inventory.Networks, add, del)
		}
	}
	for name, tc := range map[string]struct {
		change func(*harness.History)
		want   string
	}{
		"added and deleted":    {func(*harness.History) {}, ""},
		"deleted twice":        {calls(append(both, call(inventory.CNIDel, 46))...), ""},
		"never added, deleted": {also(calls(call(inventory.CNIDel, 1)), says10("")), ""},
		"never deleted":        {calls(both[0]), "leak network network=shimquake netns=gone"},
		"never deleted, and its namespace stays": {also(calls(both[0]), func(h *harness.History) {
			h.After.Inventory.Mounts = []inventory.Mount{{Point: netns, Type: "nsfs"}}
		}), "leak network network=shimquake netns=there"},
		"its namespace stays": {func(h *harness.History) {
			h.After.Inventory.Mounts = []inventory.Mount{{Point: netns, Type: "nsfs"}}
		}, "leak mount type=nsfs task=none"},
		"libcni keeps its result": {func(h *harness.History) {
			h.After.Inventory.Files = []inventory.File{{Path: cni.Cache + "/shimquake-pod-eth0"}}
		}, "leak file kind=file path=/var/lib/cni/results/shimquake-pod-ethN"},
		"added twice": {calls(both[0], call(inventory.CNIAdd, 2), both[1]), "network network call=ADD is=repeated"},
		"another interface": {func(h *harness.History) {
			lo, off := call(inventory.CNIAdd, 2), call(inventory.CNIDel, 46)
			lo.Interface, lo.Network, off.Interface, off.Network = "lo", cni.Loopback, "lo", cni.Loopback
			h.After.Inventory.Networks = append([]inventory.NetworkCall{lo, off}, both...)
		}, ""},
		"added again when it was deleted": {
			calls(both[0], both[1], call(inventory.CNIAdd, 46), call(inventory.CNIDel, 47)), "",
		},
		"taken from a pod that lives": {
			calls(both[0], call(inventory.CNIDel, 30)), "network network call=DEL is=too-early",
		},
		"deleted by a RunPodSandbox that failed": {also(calls(both[0], call(inventory.CNIDel, 30)), says10(""),
			func(h *harness.History) { h.CRI.Done = h.CRI.Done[1:]; h.CRI.Sandboxes = nil }), ""},
		"deleted when its namespace was gone": {gone(), "network network call=DEL netns=gone"},
		"deleted again when its namespace was gone": {func(h *harness.History) {
			later := call(inventory.CNIDel, 46)
			later.Gone = true
			h.After.Inventory.Networks = append(both[:2:2], later)
		}, ""},
		"deleted after a power cut": {also(gone(), func(h *harness.History) {
			h.Case.Plan = []failpoints.Fault{{At: failpoints.Point{Kind: failpoints.Proc, Who: "node"}}}
			h.Firings = []harness.Firing{{Count: 1}}
		}), ""},
		"taken from a bystander":               {beside(40), "network network call=DEL is=too-early"},
		"of a bystander that was asked to end": {beside(20), ""},
		"CRI says another address":             {says10("10.88.0.3"), "status cri-status field=ip is=other"},
		"CRI says none":                        {says10(""), "status cri-status field=ip is=other"},
	} {
		t.Run(name, func(t *testing.T) {
			h := pod()
			also(calls(both...), says10("10.88.0.2"), stopAt(44), tc.change)(&h)
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
