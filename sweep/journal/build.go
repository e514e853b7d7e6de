package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sync"

	"github.com/shimquake/shimquake/foreign"
)

// BuildID names the running program by a digest of its executable, "shimquake
// 09f2c4d1a77e". make build is reproducible: machines that build one commit with one Go
// have the same. An error means that the executable cannot be read.
func BuildID() (string, error) { return buildID() }

var buildID = sync.OnceValues(func() (string, error) {
	f, err := foreign.OpenTyped("/proc/self/exe", 1<<30)
	if err != nil {
		return "", fmt.Errorf("identify this shimquake: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("identify this shimquake: %w", err)
	}
	return "shimquake " + hex.EncodeToString(h.Sum(nil))[:12], nil
})
