package search

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/repro/read"
)

// logging are the functions of a release that log, or make an error of, what the report
// quotes. They are found in the release's source, whose literals stand in the messages;
// none where the source is not at hand.
func logging(ctx context.Context, release string, quoted []read.Observation) []string {
	dir := sourceOf(ctx, release)
	if dir == "" || len(quoted) == 0 {
		return nil
	}
	var out []string
	for _, sub := range []string{
		"core/runtime/v2", "runtime/v2", "plugins/services/tasks", "services/tasks", "internal/cri/server", "pkg/cri/server",
		"internal/cri/server/podsandbox", "pkg/cri/sbserver", "cmd/containerd-shim-runc-v2", "pkg/shim",
	} {
		_ = filepath.WalkDir(filepath.Join(dir, sub), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil //nolint:nilerr // a folder that this release does not have
			}
			out = append(out, inFile(path, quoted)...)
			return nil
		})
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sourceOf is the folder of a release's source in the module cache, or "".
func sourceOf(ctx context.Context, release string) string {
	if !strings.HasPrefix(release, "v") {
		return strings.TrimPrefix(strings.TrimPrefix(release, "src:"), "bin:")
	}
	module := "github.com/containerd/containerd"
	if !strings.HasPrefix(release, "v0.") && !strings.HasPrefix(release, "v1.") {
		module += "/v2"
	}
	text, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", module+"@"+release).Output()
	if err != nil {
		return ""
	}
	var at struct{ Dir string }
	if json.Unmarshal(text, &at) != nil {
		return ""
	}
	return at.Dir
}

// shortest is how long a literal must be to be worth a look.
const shortest = 12

var verb = regexp.MustCompile(`%[-+# 0]*[\w.]*[a-zA-Z]`)

// inFile are the functions of a file with a literal that a quoted message holds.
func inFile(path string, quoted []read.Observation) (out []string) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil // not of this release's Go
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if ok && lit.Kind == token.STRING && saidIn(lit.Value, quoted) {
				out = append(out, f.Name.Name)
			}
			return true
		})
	}
	return out
}

// saidIn reports whether the words of a format stand in one of the messages.
func saidIn(literal string, quoted []read.Observation) bool {
	text, err := strconv.Unquote(literal)
	if err != nil {
		return false
	}
	parts := verb.Split(text, -1)
	longest := slices.MaxFunc(parts, func(a, b string) int { return len(a) - len(b) })
	longest = strings.TrimSpace(longest)
	return len(longest) >= shortest &&
		slices.ContainsFunc(quoted, func(o read.Observation) bool { return strings.Contains(o.Raw, longest) })
}
