package weave

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestSlug(t *testing.T) { must.Table(t, "testdata/slugs.txt", Slug) }

var slugText = regexp.MustCompile(`^[A-Za-z0-9_.]+(-[A-Za-z0-9_.]+)*$`)

func FuzzSlug(f *testing.F) {
	for _, line := range []string{"if err := x.f(a, b); err != nil {", "é:#", "- - -", "_"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got := Slug(line)
		if len(got) > slugLength || !slugText.MatchString(got) {
			t.Errorf("%q: slug %q", line, got)
		}
		must.Equal(t, Slug(got), got, "the slug of a slug of", line)
	})
}

func TestFunctionName(t *testing.T) {
	must.Table(t, "testdata/functions.txt", func(decl string) string {
		file := must.Get(parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+decl, 0))(t)
		return FunctionName(file.Decls[0].(*ast.FuncDecl))
	})
}
