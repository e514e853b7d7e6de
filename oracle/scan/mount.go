package scan

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/moby/sys/mountinfo"
)

// maxMountinfo limits the size of a list of mounts. A mount takes some 200 bytes.
const maxMountinfo = 16 << 20

// Mounts returns the mounts of a process, in the order of mounting. dir is the process's
// directory in /proc.
func Mounts(dir string) ([]*mountinfo.Info, error) {
	f, err := os.Open(filepath.Join(dir, "mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	defer f.Close() //nolint:errcheck // read-only
	infos, err := mountinfo.GetMountsFromReader(io.LimitReader(f, maxMountinfo), nil)
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	return infos, nil
}
