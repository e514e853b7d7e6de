package runner

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/shimquake/shimquake/fixtures/cni"
	"github.com/shimquake/shimquake/fixtures/cni/record"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// makeNetwork creates the folder with the CNI plugin and its configuration. It returns ""
// if the pods of the case use the network of the node.
func (x *run) makeNetwork() (cni.Folder, error) {
	if x.Workload.Network != harness.PodNetwork {
		return "", nil
	}
	return cni.Make(x.ctx, x.runner.Cache, x.world.Files())
}

// networkFile is the name of the file in which the CNI plugin records its calls.
const networkFile = "cni"

// networks returns the calls of the CNI plugin so far.
func (x *run) networks() ([]inventory.NetworkCall, error) {
	text, err := x.world.Truth().Read(networkFile, maxKept)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the plugin was never called
	}
	var calls []record.Call
	if err == nil {
		calls, err = record.Parse(text)
	}
	if err != nil {
		return nil, fmt.Errorf("read the calls of the CNI plugin: %w", err)
	}
	out := make([]inventory.NetworkCall, len(calls))
	for i, c := range calls {
		out[i] = inventory.NetworkCall(c)
	}
	return out, nil
}
