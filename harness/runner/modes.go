package runner

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// lookAtModes takes down who may do what with containerd's files, before a fault of that
// state happens.
func (x *run) lookAtModes() {
	if x.record.History().Modes != nil {
		return
	}
	modes, err := oracle.Modes(x.scene())
	x.record.Problem(harness.ByLook, err)
	x.record.Set(func(h *harness.History) { h.Modes = modes })
}
