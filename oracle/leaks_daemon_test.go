package oracle

import (
	"slices"
	"testing"
)

// What containerd still knows is found, each class alone; suites/control does the same with a real containerd.
func TestDaemonLeaks(t *testing.T) {
	c1 := Ref{"default", "c1"}
	before := Inventory{Daemon: &Daemon{
		Namespaces: []string{"default"}, Leases: []Ref{{"default", "old"}},
		Snapshots: []Snapshot{{Namespace: "default", Snapshotter: "overlayfs", Key: "sha256:1", Committed: true}},
	}}
	for _, test := range []struct {
		class Class
		plant func(*Daemon)
		says  []string
	}{
		{ClassContainer, func(d *Daemon) { d.Containers = []Ref{c1} }, []string{"container default/c1", "no task of that id in containerd"}},
		{ClassTask, func(d *Daemon) { d.Tasks = []Task{{Namespace: "default", ID: "c1", PID: 54, Status: "STOPPED"}} },
			[]string{"task default/c1", "STOPPED, pid 54", "no such process"}},
		{ClassSnapshot, func(d *Daemon) {
			d.Snapshots = append(d.Snapshots, Snapshot{Namespace: "default", Snapshotter: "overlayfs", Key: "c1"})
		},
			[]string{"snapshot default/c1", "no container of that name"}},
		{ClassLease, func(d *Daemon) { d.Leases = append(d.Leases, c1) }, []string{"lease default/c1"}},
		{ClassSandbox, func(d *Daemon) { d.Sandboxes = []Ref{c1} }, []string{"sandbox default/c1", "sandbox store"}},
	} {
		t.Run(string(test.class), func(t *testing.T) {
			after := Inventory{Processes: []Process{{PID: 1, Own: true}}}
			d := *before.Daemon
			d.Leases, d.Snapshots = slices.Clone(d.Leases), slices.Clone(d.Snapshots)
			after.Daemon = &d
			if found := Leaks(before, after); len(found) != 0 {
				t.Fatalf("found before anything was planted: %v", found)
			}
			test.plant(&d)
			found := Leaks(before, after)
			if len(found) != 1 || found[0].Class != test.class || !saysAll(found[0], test.says) {
				t.Errorf("found %v, want one %s that says %q", found, test.class, test.says)
			}
			// The same, when containerd was not asked before: everything counts.
			if found := Leaks(Inventory{}, after); len(found) < 2 {
				t.Errorf("without a daemon before: %v", found)
			}
		})
	}
}
