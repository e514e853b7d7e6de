package inventory

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/moby/sys/mountinfo"
)

// Mount is one mount of a mount namespace.
type Mount struct {
	Point  string `json:"point"`
	Type   string `json:"type"`
	Source string `json:"source"`
	Root   string `json:"root"` // the mounted directory within its filesystem
	// Device is the device number. All mounts of one filesystem have the same.
	Device string `json:"-"`
}

// IsCgroup reports whether it is a mount of a cgroup hierarchy.
func (m Mount) IsCgroup() bool { return m.Type == "cgroup" || m.Type == "cgroup2" }

// maxMountinfo limits the size of a list of mounts. A mount takes some 200 bytes.
const maxMountinfo = 16 << 20

// Mounts reads the mounts of a process, in the order of mounting. dir is its folder in a
// procfs.
func Mounts(dir string) ([]Mount, error) {
	f, err := os.Open(filepath.Join(dir, "mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	defer f.Close() //nolint:errcheck // read-only
	infos, err := mountinfo.GetMountsFromReader(io.LimitReader(f, maxMountinfo), nil)
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	out := make([]Mount, len(infos))
	for i, m := range infos {
		out[i] = Mount{m.Mountpoint, m.FSType, m.Source, m.Root, fmt.Sprint(m.Major, ":", m.Minor)}
	}
	return out, nil
}
