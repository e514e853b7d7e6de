package weave_test

import (
	"path/filepath"
	"testing"

	"github.com/shimquake/shimquake/failpoints/weave"
	"github.com/shimquake/shimquake/fixtures/containerd"
)

func init() {
	weave.Wrappers = func(t *testing.T) map[string]string {
		t.Helper()
		dirs := map[string]string{}
		for _, release := range containerd.Releases() {
			dir := filepath.Join(t.TempDir(), release)
			if err := containerd.WriteModule(t.Context(), release, dir); err != nil {
				t.Fatal(err)
			}
			dirs[release] = dir
		}
		if len(dirs) < 2 {
			t.Fatalf("releases %v: the test looks at nothing", dirs)
		}
		return dirs
	}
}
