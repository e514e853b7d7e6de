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
	for name, tt := range map[string]struct {
		old, new string
		want     []string
	}{
		"a comment":       {"// F is it.", "// F is\n// another.", nil},
		"a line":          {"t.a = x; go", "t.a = x\n\tgo", nil},
		"a result":        {"return 1", "return 2", []string{"core.F"}},
		"a variable":      {"x int) { t.a = x", "y int) { t.a = y", []string{"core.T.G"}},
		"a literal":       {"{ F() }", "{ F(); F() }", []string{"core.T.G"}},
		"a field":         {"{ a int }", "{ a uint }", []string{"core.type T.a"}},
		"a new field":     {"{ a int }", "{\n\tb bool\n\ta int\n}", []string{"core.type T.b"}},
		"a tag":           {"{ a int }", "{ a int; b int `json:\"b\"` }", []string{"core.type T"}},
		"an embedded one": {"{ a int }", "{ a int; B }", []string{"core.type T"}},
		"another type":    {"type T struct{ a int }", "type T []int", []string{"core.type T"}},
		"a new type":      {"type T", "type U int\n\ntype T", []string{"core.type U"}},
		"a new variable":  {"type T", "var v, w = F(), 1\n\ntype T", []string{"core.var v"}},
		"a new function":  {"type T", "func H() {}\n\ntype T", []string{"core.H"}},
		"a new constant":  {"type T", "const (\n\tK = 1\n\tL = 2\n)\n\ntype T", []string{"core.const K", "core.const L"}},
		"more of iota":    {"type T", "const (\n\tK = iota\n\tL\n)\n\ntype T", []string{"core."}},
		"a new import":    {"import", "import \"b/codes\"\n\nimport", []string{"core.import a.go codes"}},
		"a blank import":  {"import", "import _ \"b/codes\"\n\nimport", []string{"core."}},
		"another import":  {"a/status", "b/status/v2", []string{"core.import a.go status"}},
		"another package": {"package core", "package other", []string{"core."}},
	} {
		t.Run(name, func(t *testing.T) {
			now := functionsIn(t, strings.Replace(src, tt.old, tt.new, 1))
			var changed []string
			for key, digest := range now {
				if was[key] != digest {
					changed = append(changed, key)
				}
			}
			slices.Sort(changed)
			must.Equal(t, changed, tt.want, "changed")
		})
	}
}
