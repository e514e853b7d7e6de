package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sync"

	"github.com/shimquake/shimquake/foreign"
)

// BuildID returns a digest of the running executable, "shimquake 09f2c4d1a77e". make
// build is reproducible: machines that build one commit with the same Go have the same
// digest. An error means that the executable cannot be read.
func BuildID() (string, error) { return buildID() }

var buildID = sync.OnceValues(func() (string, error) {
	f, err := foreign.OpenTyped("/proc/self/exe", 1<<30)
	if err != nil {
		return "", fmt.Errorf("identify this shimquake: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("identify this shimquake: %w", err)
	}
	return "shimquake " + hex.EncodeToString(h.Sum(nil))[:12], nil
})
