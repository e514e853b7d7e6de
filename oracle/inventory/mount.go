package inventory

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/moby/sys/mountinfo"
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
	f, err := os.Open(filepath.Join(proc, "1/mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	defer f.Close() //nolint:errcheck // read-only
	infos, err := mountinfo.GetMountsFromReader(f, nil)
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	out := make([]Mount, len(infos))
	for i, m := range infos {
		out[i] = Mount{Point: m.Mountpoint, Type: m.FSType, Source: m.Source, Root: m.Root}
	}
	return out, nil
}
