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
	const (
		computes = "blind inside reads"
		reads    = "inside reads"
		memory   = "blind inside"
		blind    = "blind" // it changes something outside of the process
		anything = ""
	)
	const others = `
func seen(x string) bool { _, err := os.Stat(x); return err == nil }
func count(s *T) int { s.mu.Lock(); defer s.mu.Unlock(); return recount(s) }
func recount(s *T) int { if s.n > 9 { return count(s) }; return s.n }
func (s *T) count(x *T) int { return count(x) }
func other() { made := make(chan int); made <- 1 }
func (s *T) woven(ctx context.Context) error { return os.Remove(s.path) }
`
	for stmt, want := range map[string]string{
		`x = 1`:                                    computes,
		`x, y := a.b, len(c)`:                      computes,
		`if err != nil { f() }`:                    computes,
		`if err := f(); err != nil { return }`:     anything, // f may have captured a context
		`if x { <-c }`:                             computes,
		`if <-c { }`:                               anything,
		`var x = filepath.Join(a, b)`:              computes,
		`x := filepath.Glob(a)`:                    computes,
		`x, err := s.shims.Get(ctx, id)`:           reads,
		`if _, err := os.Stat(x); err != nil { }`:  computes,
		`os.Open(x)`:                               blind, // a lost result is an open file
		`x, err := fifo.Open(shimCtx, name)`:       anything,
		`return nil, fmt.Errorf("%w: %s", err, x)`: computes,
		`return f()`:                               anything,
		`return seen(x)`:                           computes,
		`x := count(s)`:                            memory,
		`a.count(s)`:                               memory,
		`a.b.count(s)`:                             anything, // another type may have that method
		`cmd.Run()`:                                anything, // a value may hold a context
		`mount.All(mounts, rootfs)`:                blind,
		`x := a.b.woven(ctx)`:                      memory, // the next statement is its first one
		`log.G(ctx).WithError(err).Warn("x")`:      computes,
		`s.mu.Lock()`:                              memory,
		`s.log.G(ctx).Warn("x")`:                   anything,
		`<-ctx.Done()`:                             anything,
		`ctx, cancel := context.WithCancel(ctx)`:   computes,
		`if ctx.Err() != nil { }`:                  reads,
		`defer s.mu.Unlock()`:                      computes,
		`defer s.close(f())`:                       anything,
		`go func() { }()`:                          anything,
		`select { case <-c: }`:                     anything,
		`for x := range made { }`:                  anything,
		`for x := range slice { }`:                 computes,
		`c <- x`:                                   anything,
		`x := []byte(s)`:                           computes,
		`x := func() { f() }`:                      computes,
		`func() { f() }()`:                         computes, // f() is a statement of its own
		`switch x := f(); x { }`:                   anything,
		`switch x { case 1: f() }`:                 computes,
		`delete(m, k)`:                             memory,
	} {
		must.Equal(t, words(effectIn(t, "func outer() {\n"+stmt+"\n}\n"+others, stmt)), want, stmt)
	}
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
