package weave

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

// functionsIn returns the digests of a module with one file.
func functionsIn(t *testing.T, src string) Functions {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "core", "a.go")
	must.Succeed(t, os.Mkdir(filepath.Dir(name), 0o755))
	must.Succeed(t, os.WriteFile(name, []byte(src), 0o644))
	return must.Get(functionsOf(dir))(t)
}

func TestFunctions(t *testing.T) {
	const src = "package core\n\nimport \"a/status\"\n\n// F is it.\nfunc F() int {\n\treturn 1 // one\n}\n\n" +
		"type T struct{ a int }\n\nfunc (t *T) G(x int) { t.a = x; go func() { F() }() }\n"
	was := functionsIn(t, src)
	keys := slices.Sorted(maps.Keys(was))
	if !slices.Equal(keys, []string{"core.", "core.F", "core.T.G", "core.import a.go status",
		"core.type T", "core.type T.a"}) {
		t.Fatalf("the functions are %q", keys)
	}
	must.Edits(t, "testdata/changes.txt", src, func(text string) string {
		var changed []string
		for key, digest := range functionsIn(t, text) {
			if was[key] != digest {
				changed = append(changed, key)
			}
		}
		slices.Sort(changed)
		return strings.Join(changed, ", ")
	})
}
