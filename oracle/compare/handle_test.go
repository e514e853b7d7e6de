package compare

import (
	"slices"
	"testing"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/wording"
)

func TestHandleLeaks(t *testing.T) {
	const where = "core/x.(*Y).Run"
	allowed := may[0]
	g := func(of string, n int) inventory.Held {
		return inventory.Held{Kind: fact.AGoroutine, Of: of, Root: of, Count: n, Stack: of}
	}
	at := func(of, root string, n int) inventory.Held {
		return inventory.Held{Kind: fact.AGoroutine, Of: of, Root: root, Count: n, Stack: of}
	}
	daemon := func(pid int, held ...inventory.Held) inventory.Handles {
		return inventory.Handles{PID: pid, Start: uint64(pid), Held: held}
	}
	shim := func(pid, n int) inventory.Handles {
		return inventory.Handles{PID: pid, Start: uint64(pid), Shim: &inventory.ShimArgs{Namespace: "default", ID: "c1"},
			Held: []inventory.Held{{Kind: fact.ADescriptor, Of: "pipe", Count: n}}}
	}
	in := func(collected bool, held ...inventory.Held) inventory.Handles {
		return inventory.Handles{PID: 9, Start: 9, Shim: &inventory.ShimArgs{}, Collected: collected, Held: held}
	}
	ptmx := inventory.Held{Kind: fact.ADescriptor, Of: "/ptmx", Count: 1}
	pidfds := func(collected bool, n int) inventory.Handles {
		return in(collected, inventory.Held{Kind: fact.ADescriptor, Of: "pidfd", Count: n})
	}
	served := inventory.Process{PID: 9, Start: 9, Shim: &inventory.ShimArgs{Namespace: "default", ID: "c1"}}
	for _, tc := range []struct {
		name          string
		before, after []inventory.Handles
		left          func(*inventory.Inventory)
		count         []string // Count of each finding
	}{
		{"as many", []inventory.Handles{daemon(2, g(where, 3))}, []inventory.Handles{daemon(2, g(where, 3))}, nil, nil},
		{"fewer", []inventory.Handles{daemon(2, g(where, 3))}, []inventory.Handles{daemon(2, g(where, 2))}, nil, nil},
		{"one more", []inventory.Handles{daemon(2, g(where, 3))}, []inventory.Handles{daemon(2, g(where, 4))}, nil,
			[]string{"1"}},
		{"a new kind", []inventory.Handles{daemon(2)}, []inventory.Handles{daemon(2, g(where, 2))}, nil, []string{"2"}},
		{"the same function is no descriptor", []inventory.Handles{daemon(2, g("pipe", 1))},
			[]inventory.Handles{daemon(2, inventory.Held{Kind: fact.ADescriptor, Of: "pipe", Count: 1})}, nil, []string{"1"}},
		{"the same, elsewhere in its work", []inventory.Handles{daemon(2, at("core/gc.Mark", where, 1))},
			[]inventory.Handles{daemon(2, g(where, 1))}, nil, nil},
		{"one in another place than before", []inventory.Handles{daemon(2, at("core/x.A", "grpc.serve", 1))},
			[]inventory.Handles{daemon(2, at("core/x.A", "grpc.serve", 1), at("core/x.B", "grpc.serve", 2))}, nil,
			[]string{"2"}},
		{"one that moved and one more", []inventory.Handles{daemon(2, at("core/x.A", "grpc.serve", 1))},
			[]inventory.Handles{daemon(2, at("core/x.B", "grpc.serve", 1), at("core/x.C", "grpc.serve", 1))}, nil,
			[]string{"1"}},
		{"of one that was started again", []inventory.Handles{daemon(2, g(where, 3))},
			[]inventory.Handles{daemon(30, g(where, 4))}, nil,
			[]string{"1"}},
		{"allowed", []inventory.Handles{daemon(2)}, []inventory.Handles{daemon(2,
			inventory.Held{Kind: allowed.Kind, Of: allowed.Of,
				Count: allowed.Most})}, nil, nil},
		{"more than allowed", []inventory.Handles{daemon(2)}, []inventory.Handles{daemon(2,
			inventory.Held{Kind: allowed.Kind, Of: allowed.Of,
				Count: allowed.Most + 1})}, nil, []string{"1"}},
		{"a shim that lives on", []inventory.Handles{daemon(2), shim(9, 1)}, []inventory.Handles{daemon(2), shim(9, 3)}, nil,
			[]string{"2"}},
		{"what may be garbage", []inventory.Handles{daemon(2), shim(9, 1)}, []inventory.Handles{daemon(2), pidfds(false, 7)},
			nil, nil},
		{"what was collected before", []inventory.Handles{daemon(2), pidfds(false, 7)},
			[]inventory.Handles{daemon(2), pidfds(true, 7)}, nil,
			nil},
		{"what no collection takes", []inventory.Handles{daemon(2), pidfds(true, 2)},
			[]inventory.Handles{daemon(2), pidfds(true, 7)}, nil,
			[]string{"5"}},
		{"a console that is garbage", []inventory.Handles{daemon(2), in(false)},
			[]inventory.Handles{daemon(2), in(false, ptmx)}, nil, nil},
		{"a console that is kept", []inventory.Handles{daemon(2), in(true)}, []inventory.Handles{daemon(2), in(true, ptmx)},
			nil,
			[]string{"1"}},
		{"a goroutine in a shim", []inventory.Handles{daemon(2), in(true, g(where, 1))},
			[]inventory.Handles{daemon(2), in(true, g(where, 3))},
			nil, []string{"2"}},
		{"in a shim that was not asked before", []inventory.Handles{daemon(2), in(false)},
			[]inventory.Handles{daemon(2), in(true, g(where, 3))}, nil, nil},
		{"in one that does not answer any more", []inventory.Handles{daemon(2), in(true, g(where, 3))},
			[]inventory.Handles{daemon(2), in(false)}, nil, nil},
		{"in a shim and not in containerd", []inventory.Handles{daemon(2)},
			[]inventory.Handles{daemon(2, inventory.Held{Kind: fact.ADescriptor, Of: "pidfd", Count: 1})}, nil, []string{"1"}},
		{"a shim that is another by now", []inventory.Handles{daemon(2), shim(9, 1)},
			[]inventory.Handles{daemon(2), shim(10, 3)}, nil, nil},
		{"containerd was not looked at before", nil, []inventory.Handles{daemon(2, g(where, 1))}, nil, nil},
		{"nor after", []inventory.Handles{daemon(2, g(where, 1))}, nil, nil, nil},
		{"for a shim that is there", []inventory.Handles{daemon(2)}, []inventory.Handles{daemon(2, g(where, 1))},
			func(inv *inventory.Inventory) { inv.Processes = []inventory.Process{served} }, nil},
		{"for a task that is there", []inventory.Handles{daemon(2)}, []inventory.Handles{daemon(2, g(where, 1))},
			func(inv *inventory.Inventory) {
				inv.Daemon = &inventory.Daemon{Tasks: []inventory.Task{{Namespace: "default", ID: "c1"}}}
			}, nil},
		{"a lease is nothing to hold it for", []inventory.Handles{daemon(2)}, []inventory.Handles{daemon(2, g(where, 1))},
			func(inv *inventory.Inventory) {
				inv.Daemon = &inventory.Daemon{Leases: []inventory.Ref{{Namespace: "default", ID: "l"}}}
			}, []string{"1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before, after := inventory.Inventory{Handles: tc.before}, inventory.Inventory{Handles: tc.after}
			if tc.left != nil {
				tc.left(&after)
			}
			var got []string
			for _, f := range Leaks(before, after) {
				if f.Class == finding.ClassHandle {
					got = append(got, f.Facts[fact.Count])
				}
			}
			must.Equal(t, got, tc.count, "more")
		})
	}
}

// Each line of handles.yaml is there once, and does not allow the most frequent kind of
// leak.
func TestMayIsNoExcuseForAll(t *testing.T) {
	for i, m := range may {
		if slices.ContainsFunc(may[:i], func(o AllowedHandle) bool {
			return o.Holder == m.Holder && o.Kind == m.Kind && o.Of == m.Of
		}) {
			t.Errorf("%s %s stands there twice", m.Kind, m.Of)
		}
	}
	for _, bad := range []string{
		"- {holder: shim, kind: goroutine, of: x, why: y}", "- {holder: shim, kind: thread, of: x, most: 1, why: y}",
		"- {holder: shim, kind: goroutine, of: x, most: 1}", "- {holder: shim, kind: goroutine, most: 1, why: y}",
		"- {kind: goroutine, of: x, most: 1, why: y}",
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is taken", bad)
				}
			}()
			mustReadMay([]byte(bad))
		}()
	}
}

func TestHandleWords(t *testing.T) {
	for _, tc := range []struct {
		f    finding.Finding
		want string
	}{
		{handleFinding(inventory.Handles{}, inventory.Held{Kind: fact.AGoroutine, Of: "core/x.F", Count: 3,
			Stack: "core/x.F < main.main"}, 2),
			"leak handle: goroutine in core/x.F of containerd: 2 more than the limit of 1; " +
				"the stack of one: core/x.F < main.main"},
		{handleFinding(inventory.Handles{}, inventory.Held{Kind: fact.ADescriptor, Of: "/dev/null", Count: 1}, 1),
			"leak handle: descriptor of /dev/null in containerd: 1 more than the limit of 0"},
		{handleFinding(inventory.Handles{}, inventory.Held{Kind: fact.AWatch, Of: "inotify", Count: 1}, 1),
			"leak handle: inotify watch of containerd: 1 more than the limit of 0"},
		{handleFinding(inventory.Handles{PID: 9, Shim: &inventory.ShimArgs{Namespace: "default", ID: "c1"}},
			inventory.Held{Kind: fact.AConnection, Of: "outgoing",
				Count: 1}, 1),
			"leak handle: connection (outgoing) of shim process 9 (default/c1): 1 more than the limit of 0"},
	} {
		must.Equal(t, wording.Of(tc.f), tc.want)
	}
}
