package weave

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

// weaveSource weaves all functions of a source text. Points are named by their numbers
// and have marks: c for a call, x for a context.
func weaveSource(f *File) (names []string, out []byte, err error) {
	w := &walker{File: f, local: local([]*File{f}), context: contextType(f.AST)}
	w.add = func(function string, pos token.Position, s Statement) int {
		name := fmt.Sprintf("%s:%d %s", function, pos.Line, Slug(s.Text))
		if s.Call {
			name += " call"
		}
		if s.Ctx {
			name += " ctx"
		}
		names = append(names, name)
		return len(names)
	}
	for _, decl := range f.AST.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			w.weave(fn)
		}
	}
	out, err = ApplyEdits(f.src, f.edits)
	return names, out, err
}

func parseText(src string) (*File, error) {
	f := &File{Name: "x.go", Fset: token.NewFileSet(), src: []byte(src)}
	var err error
	f.AST, err = parser.ParseFile(f.Fset, "x.go", src, parser.ParseComments|parser.SkipObjectResolution)
	return f, err
}

func TestWeave(t *testing.T) {
	tests, err := filepath.Glob("testdata/weave/*.go.txt")
	if err != nil || len(tests) == 0 {
		t.Fatalf("no tests in testdata/weave (%v)", err)
	}
	for _, name := range tests {
		t.Run(filepath.Base(name), func(t *testing.T) {
			src := must.Get(os.ReadFile(name))(t)
			f := must.Get(parseText(string(src)))(t)
			names, out, err := weaveSource(f)
			must.Succeed(t, err)
			got := string(out) + "-- points --\n" + strings.Join(names, "\n") + "\n"
			golden := strings.TrimSuffix(name, ".go.txt") + ".golden"
			must.Golden(t, golden, got)
			must.Equal(t, bytes.Count(out, []byte("\n")), bytes.Count(src, []byte("\n")), "lines have moved")
		})
	}
}

// FuzzWeave: any Go source is Go with the same lines after weaving.
func FuzzWeave(f *testing.F) {
	tests, err := filepath.Glob("testdata/weave/*.go.txt")
	if err != nil || len(tests) == 0 {
		f.Fatalf("no seeds in testdata/weave (%v)", err)
	}
	for _, name := range tests {
		src := must.Get(os.ReadFile(name))(f)
		f.Add(string(src))
	}
	f.Fuzz(func(t *testing.T, src string) {
		file, err := parseText(src)
		if err != nil {
			return
		}
		_, out, err := weaveSource(file)
		must.Succeed(t, err)
		must.Equal(t, must.ErrorOf(parseText(string(out))), nil, "woven it does not parse", out)
		must.Equal(t, bytes.Count(out, []byte("\n")), strings.Count(src, "\n"), "lines have moved", out)
	})
}
