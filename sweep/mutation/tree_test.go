package mutation

import (
	"os"
	"path/filepath"
	"testing"
)

// The source for the mutations exists, whatever is in the cache of trees.
func TestRelease(t *testing.T) {
	dir, err := release(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "core/runtime/v2/shim.go")); err != nil {
		t.Error(err)
	}
}
