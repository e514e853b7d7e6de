package mutation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/failpoints/weave"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/must"
)

// The source for the mutations exists, whatever is in the cache of trees.
func TestRelease(t *testing.T) {
	dir := must.Get(release(t.Context()))(t)
	must.Get(os.Stat(filepath.Join(dir, "core/runtime/v2/shim.go")))(t)
}

const module = "github.com/containerd/containerd/v2"

// Untouched is the mutation without edits. It is the control for the others.
var Untouched = Mutation{ID: "untouched", About: "the release as it is", Plain: Held}

// Tree returns a folder with the source of Release and the mutation in it, for `src:DIR`.
// The folder is in the cache of builds. Its name has a digest of its content, so that the
// same tree is built only once.
func Tree(ctx context.Context, m Mutation) (string, error) {
	cache, err := containerd.CacheDir()
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(m.Edits)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	dir := filepath.Join(cache, "mutation", Release+"-"+m.ID+"-"+hex.EncodeToString(sum[:4]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), ".tree-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }()
	from, err := release(ctx)
	if err == nil {
		err = copySource(from, work)
	}
	if err == nil {
		err = m.Apply(work)
	}
	if err == nil {
		err = os.Chmod(work, 0o755)
	}
	if err != nil {
		return "", err
	}
	if err := os.Rename(work, dir); err != nil {
		if _, other := os.Stat(dir); other != nil { // the folder does not exist, so no other process has made it
			return "", err
		}
	}
	return dir, nil
}

// release returns the folder of Release's module in Go's module cache.
func release(ctx context.Context) (string, error) {
	wrapper, err := os.MkdirTemp("", "shimquake-mutation-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(wrapper) }()
	if err := containerd.WriteModule(ctx, Release, wrapper); err != nil {
		return "", err
	}
	dir, err := weave.ModuleDir(ctx, wrapper, module)
	if err != nil {
		return "", fmt.Errorf("find the source of %s %s: %w", module, Release, err)
	}
	return dir, nil
}

// copySource copies the files that a build of the module may read. It omits tests. It
// does not copy the files' modes, because files of the module cache are read-only.
func copySource(from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if !d.Type().IsRegular() || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o644)
	})
}
