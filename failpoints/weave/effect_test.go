package weave

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestEffect(t *testing.T) {
	const others = `
func seen(x string) bool { _, err := os.Stat(x); return err == nil }
func count(s *T) int { s.mu.Lock(); defer s.mu.Unlock(); return recount(s) }
func recount(s *T) int { if s.n > 9 { return count(s) }; return s.n }
func (s *T) count(x *T) int { return count(x) }
func other() { made := make(chan int); made <- 1 }
func (s *T) woven(ctx context.Context) error { return os.Remove(s.path) }
`
	must.Table(t, "testdata/effects.txt", func(stmt string) string {
		return words(effectIn(t, "func outer() {\n"+stmt+"\n}\n"+others, stmt))
	})
}

// After a return, the next statement may be in another package.
func TestEffectOfAReturn(t *testing.T) {
	for fn, want := range map[string]string{
		"func ours() int { return 1 }":                         "blind inside reads",
		"func Exported() int { return 1 }":                     "",
		"func ours() int { defer os.Remove(x); return 1 }":     "blind",
		"func ours() int { defer s.mu.Unlock(); return 1 }":    "blind inside",
		"func ours() int { defer func() { f() }(); return 1 }": "blind inside reads",
	} {
		must.Equal(t, words(effectIn(t, fn, "return 1")), want, fn)
	}
}

const header = `package x

import (
	"context"
	"os"

	"github.com/containerd/containerd/v2/core/mount"
)

`

// effectIn returns the effect of a statement of the first of the functions.
func effectIn(t *testing.T, functions, stmt string) (effect Effect) {
	t.Helper()
	f, err := parseText(header + functions)
	must.Succeed(t, err, functions)
	var all []*ast.FuncDecl
	for _, decl := range f.AST.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			all = append(all, fn)
		}
	}
	last := all[len(all)-1]
	w := &walker{File: f, local: map[string]bool{},
		effects: effectsOf([]*File{f}, map[*File][]*ast.FuncDecl{f: {last}})}
	found := false
	w.add = func(_ string, _ token.Position, s Statement) int {
		if !found && s.Text == stmt {
			effect, found = s.Effect, true
		}
		return 1
	}
	w.weave(all[0])
	if !found {
		t.Fatalf("%s has no statement %s", functions, stmt)
	}
	return effect
}

func words(e Effect) string {
	var all []string
	for word, is := range map[string]bool{"inside": e.Inside, "reads": e.Reads, "blind": e.Blind} {
		if is {
			all = append(all, word)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
