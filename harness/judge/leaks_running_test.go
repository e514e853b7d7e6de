package judge

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// Each row has the belongings of a running container after a restart of containerd.
func TestLivingKeep(t *testing.T) {
	const dir = "/run/containerd/io.containerd.grpc.v1.cri/sandboxes/pod"
	folder := inventory.Belonging{ID: "pod", File: inventory.File{Path: dir, Kind: fact.ADirectory}}
	file := inventory.Belonging{ID: "pod", File: inventory.File{Path: dir + "/hosts"}}
	shm := inventory.Belonging{ID: "pod", File: inventory.File{Path: dir + "/shm"}, Mount: "tmpfs"}
	has := func(all ...inventory.Belonging) func(*harness.History) {
		return func(h *harness.History) {
			h.Belongings = []inventory.Belongings{
				{At: at(10), Of: []string{"pod"}, Have: []inventory.Belonging{folder, file, shm}},
				{At: at(12), Of: []string{"c0"}},
				{At: at(30), Of: []string{"c0", "pod"}, Have: all},
			}
		}
	}
	judged(t, map[string]row{
		"all of it": {has(folder, file, shm), ""},
		"and more": {has(folder, file, shm, inventory.Belonging{ID: "c0", File: inventory.File{Path: "/x/c0"}}),
			""},
		"without /dev/shm":    {has(folder, file), "loss mount type=tmpfs in=running-owner"},
		"without a file":      {has(folder, shm), "loss file kind=file in=running-owner"},
		"without anything":    {has(), "loss file kind=directory in=running-owner"},
		"its shim was killed": {also(has(), func(h *harness.History) { kill(h, "shim", 42) }), ""},
		"a call of containerd's had failed": {also(has(), func(h *harness.History) {
			h.Hits = append(h.Hits, hit("stmt:containerd:x:y", 29, func(h *failpoints.Hit) {
				h.Fault, h.Did = 0, term.Error
			}))
		}), ""},
		"one failed afterwards": {also(has(), func(h *harness.History) {
			h.Hits = append(h.Hits, hit("stmt:containerd:x:y", 31, func(h *failpoints.Hit) {
				h.Fault, h.Did = 0, term.Error
			}))
		}), "loss file kind=directory in=running-owner"},
	})
}
