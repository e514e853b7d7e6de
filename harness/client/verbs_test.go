package client

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/shimquake/shimquake/harness"
)

// The hits of a verb without a path would be counted to the client's previous call, and
// swept there.
func TestEveryVerbHasAPath(t *testing.T) {
	files, err := filepath.Glob("*/*.go")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	verbs := 0
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
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
				t.Errorf("%s: the verb %s has no path in harness/passes.go", name, verb.Value)
			}
			return true
		})
	}
	if verbs < 10 {
		t.Errorf("only %d verbs were found: are calls made in another way now?", verbs)
	}
}
