package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sync"

	"github.com/shimquake/shimquake/foreign"
)

// BuildID returns a digest of the running executable, for example "shimquake
// 09f2c4d1a77e". Machines that build the same commit with the same Go get the same
// digest, because `make build` is reproducible. An error means that the executable cannot
// be read.
func BuildID() (string, error) { return buildID() }

var buildID = sync.OnceValues(func() (string, error) {
	f, err := foreign.OpenTyped("/proc/self/exe", 1<<30)
	if err != nil {
		return "", fmt.Errorf("identify this shimquake: %w", err)
	}
	defer func() { _ = f.Close() }() // ignored: the file was only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("identify this shimquake: %w", err)
	}
	return "shimquake " + hex.EncodeToString(h.Sum(nil))[:12], nil
})
