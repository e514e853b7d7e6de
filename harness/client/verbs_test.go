package client

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/must"
)

// The hits of a verb without a path would be counted to the client's previous call, and
// swept there. A client makes each call of CRI in the table of verbs.
func TestEveryVerbHasAPath(t *testing.T) {
	files, err := filepath.Glob("*/*.go")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	verbs, said := 0, map[string]bool{}
	for _, name := range files {
		f := must.Get(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t)
		ast.Inspect(f, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(name, "cri/") {
				said[text.Value] = true
			}
			c, ok := n.(*ast.CallExpr)
			if !ok || len(c.Args) < 2 {
				return true
			}
			of, ok := c.Fun.(*ast.SelectorExpr)
			verb, lit := c.Args[1].(*ast.BasicLit)
			if !ok || !lit || of.Sel.Name != "on" && of.Sel.Name != "call" && of.Sel.Name != "Call" {
				return true
			}
			text, err := strconv.Unquote(verb.Value)
			if verbs++; err != nil || harness.PathOf(text) == "" {
				t.Errorf("%s: the verb %s has no path in harness/script/verbs.go", name, verb.Value)
			}
			return true
		})
	}
	for _, v := range script.Verbs {
		for _, name := range []string{v.Call, v.PodCall} {
			if name != "" && !said[strconv.Quote(name)] {
				t.Errorf("%s: no call of harness/client/cri is named %s", v.Name, name)
			}
		}
	}
	if verbs < 10 {
		t.Errorf("only %d verbs were found: are calls made in another way now?", verbs)
	}
}
