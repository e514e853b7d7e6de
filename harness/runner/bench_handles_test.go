package runner

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// BenchmarkHandles measures the cost of reading containerd's descriptors and
// goroutines. It compares the processor time of the harness and of the world for
// inventories with and without them. A case takes two to four inventories.
func BenchmarkHandles(b *testing.B) {
	w := newBareWorld(b, &Runner{Residues: catalogue.Residues(), Evidence: b.TempDir()})
	with := must.Get(w.x.sceneUp(b.Context()))(b)
	without := with
	without.Daemon = 0
	cpu := map[bool]time.Duration{}
	for b.Loop() {
		for looked, s := range map[bool]inventory.Scene{true: with, false: without} {
			begun, world := ownCPU(b), w.x.world.CPU()
			must.Get(inventory.Take(b.Context(), s))(b)
			cpu[looked] += ownCPU(b) - begun + w.x.world.CPU() - world
		}
	}
	b.ReportMetric(0, "ns/op") // of the two together it says nothing
	for looked, name := range map[bool]string{true: "with-cpu-µs", false: "without-cpu-µs"} {
		b.ReportMetric(float64(cpu[looked].Microseconds())/float64(b.N), name)
	}
}
