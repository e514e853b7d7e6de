package runner

import (
	"path/filepath"

	"github.com/shimquake/shimquake/fixtures/cni"
	"github.com/shimquake/shimquake/fixtures/cni/record"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// makeNetwork gives the world what pods with a network of their own take; "" for a case
// without.
func (x *run) makeNetwork() (cni.Folder, error) {
	if x.Workload.Network != harness.PodNetwork {
		return "", nil
	}
	folder := cni.Folder(filepath.Join(x.world.Dir(), "cni"))
	return folder, cni.Make(x.ctx, x.runner.Cache, folder)
}

// networkRecord is where the plugin notes its calls.
func (x *run) networkRecord() string { return filepath.Join(x.world.TruthDir(), "cni") }

// networks are the calls of the plugin so far.
func (x *run) networks() ([]inventory.NetworkCall, error) {
	calls, err := record.Read(x.networkRecord())
	out := make([]inventory.NetworkCall, len(calls))
	for i, c := range calls {
		out[i] = inventory.NetworkCall(c)
	}
	return out, err
}
