package settle

import (
	"net"
	"slices"
	"testing"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// A shim that keeps running must not hold more handles than before. This one does not
// close a connection.
func TestARunningShimLeaksAConnection(t *testing.T) {
	w := newWorld(t)
	const socket = "/run/containerd/s/ab12"
	shim := w.role("listener", []string{"LISTEN=" + socket}, "-namespace", "default", "-id", "c1")
	w.until("it listens", func(inv inventory.Inventory) bool { return len(inv.Sockets) == 1 && inv.Sockets[0].Listening })
	w.scene.Daemon = w.start(order{Argv: []string{"sleep", "1000"}})
	w.until("it sleeps, and opens no files any more", func(inv inventory.Inventory) bool {
		return slices.ContainsFunc(inv.Processes, func(p inventory.Process) bool {
			return p.PID == w.scene.Daemon && p.State == "S" && len(p.Argv) > 0 && p.Argv[0] == "sleep"
		})
	})
	before := w.take()
	if found := compare.Leaks(before, w.take()); len(found) != 0 {
		t.Fatalf("found before there was anything: %v", found)
	}
	c := must.Get(net.Dial("unix", w.path(socket)))(t)
	t.Cleanup(func() { _ = c.Close() })
	w.until("it is accepted", func(inv inventory.Inventory) bool { return len(compare.Leaks(before, inv)) > 0 })
	found := compare.Leaks(before, w.take())
	if len(found) != 1 || found[0].Class != finding.ClassHandle || found[0].Subject.PID != shim ||
		!saysAll(found[0], []string{"default/c1", "1 more than the limit of 0"}) {
		t.Errorf("found %v", found)
	}
}
