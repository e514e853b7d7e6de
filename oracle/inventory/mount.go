package inventory

import (
	"path/filepath"

	"github.com/shimquake/shimquake/oracle/scan"
)

// Mount is one mount of process 1's mount namespace.
type Mount struct {
	Point  string `json:"point"`
	Type   string `json:"type"`
	Source string `json:"source"`
	Root   string `json:"root"` // the mounted directory within its filesystem
}

// mounts reads the mount table of process 1, in the order of mounting.
func mounts(proc string) ([]Mount, error) {
	infos, err := scan.Mounts(filepath.Join(proc, "1"))
	if err != nil {
		return nil, err
	}
	out := make([]Mount, len(infos))
	for i, m := range infos {
		out[i] = Mount{Point: m.Mountpoint, Type: m.FSType, Source: m.Source, Root: m.Root}
	}
	return out, nil
}
