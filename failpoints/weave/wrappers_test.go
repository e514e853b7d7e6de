package weave_test

import (
	"path/filepath"
	"testing"

	"github.com/shimquake/shimquake/failpoints/weave"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/must"
)

func init() {
	weave.Wrappers = func(t *testing.T) map[string]string {
		t.Helper()
		dirs := map[string]string{}
		// The oldest release, because it has another generation of ttrpc.
		for _, release := range append(containerd.ReleasesToTest(), containerd.Releases()[0]) {
			dir := filepath.Join(t.TempDir(), release)
			must.Succeed(t, containerd.WriteModule(t.Context(), release, dir))
			dirs[release] = dir
		}
		if len(dirs) < 2 {
			t.Fatalf("releases %v: the test looks at nothing", dirs)
		}
		return dirs
	}
}
