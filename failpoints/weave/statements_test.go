package weave

import (
	"bytes"
	"errors"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/shimquake/shimquake/must"
)

// writeTree writes files, by their slash-separated names.
func writeTree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		to := filepath.Join(dir, filepath.FromSlash(name))
		must.Write(t, to, text)
	}
}

// generationTree returns a minimal containerd: every package of its generation, with the
// files and functions that the table names.
func generationTree(g Generation, version string) map[string]string {
	tree := map[string]string{
		"go.mod":             "module " + g.Module + "\n\ngo 1.17\n",
		"version/version.go": "package version\n\nvar (\n\tVersion = \"" + version + "\"\n)\n",
	}
	for _, pkg := range g.Packages {
		name := "package " + strings.ReplaceAll(path.Base(pkg.Folder), "-", "") + "\n"
		for _, pattern := range append([]string{"any.go"}, pkg.Files...) {
			tree[path.Join(pkg.Folder, strings.ReplaceAll(pattern, "*", ""))] = name + "func _() { println() }\n"
		}
		also := name + "type criService struct{}\n"
		for _, f := range pkg.Also {
			if recv, method, ok := strings.Cut(f, "."); ok {
				f = "(" + recv + ") " + method
			}
			also += "func " + f + "() { println() }\n"
		}
		tree[path.Join(pkg.Folder, "also.go")] = also
	}
	return tree
}

func TestMoved(t *testing.T) {
	two := Generations()[slices.IndexFunc(Generations(), func(g Generation) bool { return g.Versions == "2." })]
	for name, tt := range map[string]struct {
		change func(tree map[string]string)
		want   string // "" for no error
	}{
		"as known": {func(map[string]string) {}, ""},
		"package gone": {func(tree map[string]string) {
			delete(tree, "pkg/shim/any.go")
			delete(tree, "pkg/shim/also.go")
		}, "pkg/shim is gone from this containerd: has it moved?"},
		"only tests are left": {func(tree map[string]string) {
			tree["pkg/shim/any_test.go"] = tree["pkg/shim/any.go"]
			delete(tree, "pkg/shim/any.go")
			delete(tree, "pkg/shim/also.go")
		}, "pkg/shim is gone"},
		"no statement is left": {func(tree map[string]string) {
			tree["pkg/shim/any.go"], tree["pkg/shim/also.go"] = "package shim\n", "package shim\n"
		}, "pkg/shim holds no statement"},
		"file gone": {func(tree map[string]string) { delete(tree, "internal/cri/server/sandbox_stop.go") },
			"sandbox_stop*.go of internal/cri/server is gone"},
		"function gone": {func(tree map[string]string) { tree["internal/cri/server/also.go"] = "package server\n" },
			"of internal/cri/server is gone"},
		"does not parse": {func(tree map[string]string) { tree["pkg/shim/any.go"] = "package shim\n\nfunc f( {}\n" },
			"pkg/shim/any.go:3:9: "},
		"not a package": {func(tree map[string]string) { tree["pkg/shim/any.go"] = "pakage shim\n" }, "pkg/shim/any.go"},
		"for another system only": {func(tree map[string]string) {
			tree["pkg/shim/other_windows.go"] = "this is not read"
			tree["pkg/shim/tagged.go"] = "//go:build ignore\n\npackage other\n"
		}, ""},
		"version unknown": {func(tree map[string]string) {
			tree["version/version.go"] = "package version\nvar Version = \"3.0.0\"\n"
		}, "containerd 3.0.0"},
		"version unsaid": {func(tree map[string]string) { tree["version/version.go"] = "package version\n" },
			"sets no Version"},
		"version gone": {func(tree map[string]string) { delete(tree, "version/version.go") }, "no version/version.go"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, tree := t.TempDir(), generationTree(two, "2.9.0+unknown")
			tt.change(tree)
			writeTree(t, dir, tree)
			var table Table
			err := Statements(two.Module, &table).Edit(dir)
			if tt.want == "" {
				if err != nil || len(table.Statements) < len(two.Packages) {
					t.Errorf("%d statements, error %v", len(table.Statements), err)
				}
				return
			}
			if !errors.Is(err, ErrSite) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want ErrSite with %q", err, tt.want)
			}
		})
	}
}

// TestCompiles weaves a program with every form of statement and call, and runs it.
// Nothing is armed, so its output must not change.
func TestCompiles(t *testing.T) {
	must.TakeLong(t, "compiles a program")
	src := must.Get(os.ReadFile("testdata/program.go.txt"))(t)
	workspace, module := t.TempDir(), t.TempDir()
	const name = "example.com/mini"
	writeTree(t, module, map[string]string{"go.mod": "module " + name + "\n\ngo 1.22\n", "main.go": string(src)})
	writeTree(
		t,
		workspace,
		map[string]string{
			"go.mod": "module workspace\n\ngo 1.22\n\nrequire " + name + " v0.0.0\n\nreplace " + name + " => " + module + "\n",
		},
	)
	want := must.Get(Go(t.Context(), module, "run", "."))(t)
	var table Table
	step := Step{Module: name, Edit: func(dir string) error {
		return weavePackage(dir, Package{Alias: "mini", Who: "shim", Folder: "."}, &table)
	}}
	must.Succeed(t, Apply(t.Context(), workspace, "../probe", step))
	got, err := Go(t.Context(), workspace, "run", name)
	if err != nil || got != want || want == "" {
		t.Errorf("the woven program says (%v)\n%s\nwant\n%s", err, got, want)
	}
	text, err := os.ReadFile(filepath.Join(workspace, "go.mod"))
	if err != nil || strings.Contains(string(text), workspace) {
		t.Errorf("the programs would have the folder of their build: %v\n%s", err, text)
	}
	calls := 0
	for _, s := range table.Statements {
		if s.Call {
			calls++
		}
	}
	if calls < 10 {
		t.Errorf("%d wrapped calls: the test tries too little", calls)
	}
}

// atLeast has the number of statements of each release when it was first woven. Fewer
// mean that code is no longer found.
var atLeast = map[string]int{
	"v1.6.8": 4031, "v1.6.23": 4125, "v1.6.24": 4139, "v1.6.36": 4176,
	"v1.7.2": 6063, "v1.7.3": 6100, "v1.7.4": 6138, "v1.7.35": 6214,
	"v2.0.14": 5231, "v2.1.9": 5329, "v2.2.9": 5471, "v2.3.7": 5715, "v2.4.2": 5796,
}

// byHand is the number of probes that a weave by hand had put into the runtime and the
// tasks service of v2.4.2.
const byHand = 1494

// pointName matches the points that failpoints.ParsePoint accepts.
var pointName = regexp.MustCompile(
	`^stmt:(containerd|shim):[a-z][a-z0-9-]*(\.[A-Za-z0-9_]+){1,2}:[A-Za-z0-9_.-]+(#[1-9][0-9]*)?$`,
)

// TestStatementsOfEveryRelease weaves each release and checks the result without
// compiling it.
func TestStatementsOfEveryRelease(t *testing.T) {
	must.TakeLong(t, "downloads and copies the source of each release")
	for release, wrapper := range Wrappers(t) {
		t.Run(release, func(t *testing.T) {
			f := must.Get(readModFile(filepath.Join(wrapper, "go.mod")))(t)
			i := slices.IndexFunc(f.Require, func(r *modfile.Require) bool {
				return r.Mod.Version == release && strings.HasPrefix(r.Mod.Path, "github.com/containerd/containerd")
			})
			if i < 0 {
				t.Fatalf("its go.mod does not require containerd %s", release)
			}
			module := f.Require[i].Mod.Path
			source := must.Get(ModuleDir(t.Context(), wrapper, module))(t)
			dir := t.TempDir()
			must.Succeed(t, copySource(source, dir))
			writeTree(t, dir, map[string]string{"go.mod": "module " + module + "\n\ngo 1.17\n"})
			var table Table
			must.Succeed(t, Statements(module, &table).Edit(dir))
			count := checkTable(t, source, table.Statements)
			if sum := count["runtime"] + count["tasks"]; release == "v2.4.2" && sum < byHand {
				t.Errorf("runtime and tasks have %d statements, want at least %d", sum, byHand)
			}
			checkWoven(t, source, dir, table.Statements)
			if n := len(table.Statements); n < max(atLeast[release], 4000) {
				t.Errorf("%d statements, want at least %d", n, atLeast[release])
			}
		})
	}
}

// checkTable checks that names and numbers are unique and that each place has the text.
// It counts the statements of each package.
func checkTable(t *testing.T, source string, statements []Statement) map[string]int {
	t.Helper()
	names, lines := map[string]bool{}, map[string][]string{}
	count := map[string]int{}
	for i, s := range statements {
		if s.Number != i+1 {
			t.Fatalf("statement %d has number %d", i+1, s.Number)
		}
		if names[s.Name] || !pointName.MatchString(s.Name) {
			t.Errorf("name %q is not unique or not a point's", s.Name)
		}
		names[s.Name] = true
		if lines[s.File] == nil {
			data := must.Get(os.ReadFile(filepath.Join(source, s.File)))(t)
			lines[s.File] = strings.Split(string(data), "\n")
		}
		must.Contain(t, lines[s.File][s.Line-1], s.Text, s.Place(), "the line is")
		pkg, _, _ := strings.Cut(s.Function, ".")
		count[pkg]++
	}
	t.Logf("%d statements: %v", len(statements), count)
	return count
}

// checkWoven checks that woven files parse and have their original lines.
func checkWoven(t *testing.T, source, dir string, statements []Statement) {
	t.Helper()
	seen := map[string]bool{}
	for _, s := range statements {
		if seen[s.File] {
			continue
		}
		seen[s.File] = true
		was, err1 := os.ReadFile(filepath.Join(source, s.File))
		is, err2 := os.ReadFile(filepath.Join(dir, s.File))
		must.Succeed(t, errors.Join(err1, err2))
		if bytes.Count(was, []byte("\n")) != bytes.Count(is, []byte("\n")) || bytes.Equal(was, is) {
			t.Errorf("%s: lines have moved, or nothing is woven", s.File)
		}
		must.Get(parser.ParseFile(token.NewFileSet(), s.File, is, parser.SkipObjectResolution))(t)
	}
}
