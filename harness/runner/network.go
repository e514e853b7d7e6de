package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/shimquake/shimquake/fixtures/cni"
	"github.com/shimquake/shimquake/fixtures/cni/record"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// makeNetwork creates the CNI folder for pods with a network of their own. It returns
// "" if the case has no such pod.
func (x *run) makeNetwork() (cni.Folder, error) {
	if x.Workload.Network != harness.PodNetwork {
		return "", nil
	}
	folder := cni.Folder(filepath.Join(x.world.Dir(), "cni"))
	return folder, cni.Make(x.ctx, x.runner.Cache, folder)
}

// networkFile is the name of the file in which the plugin notes its calls.
const networkFile = "cni"

// networks returns the calls of the plugin so far.
func (x *run) networks() ([]inventory.NetworkCall, error) {
	text, err := x.world.Truth().Read(networkFile, mostKept)
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
