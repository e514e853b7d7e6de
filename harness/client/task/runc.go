package task

import (
	"os"
	"path/filepath"

	"github.com/containerd/containerd/api/types/runc/options"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
)

// runcRoot is another root of runc than the default: both sides see it.
func (c *Client) runcRoot() string { return filepath.Join(c.TruthDir, "runc") }

// options are the runtime options of a container; nil: it has none.
func (c *Client) options(i *harness.Instance) any {
	if !i.Spec.RuncRoot {
		return nil
	}
	return &options.Options{Root: c.runcRoot()}
}

// runcKeeps reports whether that root has the state of a container.
func (c *Client) runcKeeps(i *harness.Instance) bool {
	_, err := os.Stat(filepath.Join(c.runcRoot(), daemon.TaskNamespace, i.ID))
	return err == nil
}

// seeRunc looks for its state there when it runs, and when it is deleted.
func (c *Client) seeRunc(i *harness.Instance) {
	switch {
	case !i.Spec.RuncRoot:
	case i.Runc == nil:
		i.Runc = &harness.RuncRoot{Kept: c.runcKeeps(i)}
	default:
		i.Runc.Left = c.runcKeeps(i)
	}
}
