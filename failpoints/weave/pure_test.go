package weave

import (
	"go/ast"
	"go/token"
	"testing"
)

func TestPure(t *testing.T) {
	for stmt, want := range map[string]bool{
		`x = 1`:                                    true,
		`x, y := a.b, len(c)`:                      true,
		`if err != nil { f() }`:                    true,
		`if err := f(); err != nil { return }`:     false,
		`if x { <-c }`:                             true,
		`if <-c { }`:                               false,
		`var x = filepath.Join(a, b)`:              true,
		`x := filepath.Glob(a)`:                    false,
		`return nil, fmt.Errorf("%w: %s", err, x)`: true,
		`return f()`:                               false,
		`log.G(ctx).WithError(err).Warn("x")`:      true,
		`s.mu.Lock()`:                              false,
		`s.log.G(ctx).Warn("x")`:                   false,
		`defer s.mu.Unlock()`:                      true,
		`defer s.close(f())`:                       false,
		`go func() { }()`:                          false,
		`select { case <-c: }`:                     false,
		`for x := range c { }`:                     false,
		`c <- x`:                                   false,
		`x := []byte(s)`:                           true,
		`x := func() { f() }`:                      true,
		`func() { f() }()`:                         false,
		`switch x := f(); x { }`:                   false,
		`switch x { case 1: f() }`:                 true,
	} {
		f, err := parseText("package x\n\nfunc f() {\n" + stmt + "\n}\n")
		if err != nil {
			t.Fatalf("%s: %v", stmt, err)
		}
		var first *Statement
		w := &walker{File: f, local: map[string]bool{}}
		w.add = func(_ string, _ token.Position, s Statement) int {
			if first == nil {
				first = &s
			}
			return 1
		}
		w.weave(f.AST.Decls[0].(*ast.FuncDecl))
		if first == nil || first.Pure != want {
			t.Errorf("%s: %+v, want pure: %v", stmt, first, want)
		}
	}
}
