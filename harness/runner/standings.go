package runner

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// lookAtStandings takes down how shims, and what runs behind them, stand with the kernel.
// While containerd is down there is nobody to compare them with.
func (x *run) lookAtStandings() {
	scene := x.scene()
	scene.Daemon = x.daemon.PID()
	is, runs, err := inventory.TakeStandings(scene)
	x.record.Problem(harness.ByLook, err)
	if err == nil && runs {
		x.record.Set(func(h *harness.History) { h.Standings = append(h.Standings, is) })
	}
}
