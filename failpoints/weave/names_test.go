package weave

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestSlug(t *testing.T) {
	for line, want := range map[string]string{
		"out, err := cmd.CombinedOutput()":    "out-err-cmd.CombinedOutput",
		"if err != nil {":                     "if-err-nil",
		"return nil":                          "return-nil",
		"{":                                   "block",
		"":                                    "block",
		"(*p)(x)":                             "p-x",
		"s.état = 1":                          "s.-tat-1",
		"a_b.C9 // ::x":                       "a_b.C9-x",
		strings.Repeat("a", 50):               strings.Repeat("a", 40),
		strings.Repeat("a", 39) + "  bcd":     strings.Repeat("a", 39),
		strings.Repeat("ab ", 20):             strings.TrimSuffix(strings.Repeat("ab-", 14)[:40], "-"),
		"return fmt.Errorf(\"%w: %s\", a, b)": "return-fmt.Errorf-w-s-a-b",
	} {
		must.Equal(t, Slug(line), want, line)
	}
}

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
	for decl, want := range map[string]string{
		"func f() {}":             "f",
		"func (T) f() {}":         "T.f",
		"func (t *T) f() {}":      "T.f",
		"func (t *T[K]) f() {}":   "T.f",
		"func (t T[K, V]) f() {}": "T.f",
		"func f[K any](k K) {}":   "f",
	} {
		file := must.Get(parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+decl, 0))(t)
		must.Equal(t, FunctionName(file.Decls[0].(*ast.FuncDecl)), want, decl)
	}
}
