package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"strings"
)

// rules returns the tables of the judge's rules: one for each comment in the list of
// rules (harness/judge/judge.go), in its order.
func rules(dir string) (string, error) {
	set, files, err := parse(filepath.Join(dir, "harness/judge"))
	if err != nil {
		return "", err
	}
	said := functions(files)
	list, comments := listOf(files)
	if list == nil {
		return "", fmt.Errorf("harness/judge has no list named rules")
	}
	var b strings.Builder
	var rows [][]string
	flush := func() {
		if len(rows) > 0 {
			b.WriteString(table([]string{"rule", "what must hold"}, rows) + "\n")
		}
		rows = nil
	}
	for _, e := range list.Elts {
		for len(comments) > 0 && comments[0].Pos() < e.Pos() {
			flush()
			b.WriteString(strings.TrimSpace(comments[0].Text()) + "\n\n")
			comments = comments[1:]
		}
		f := functionOf(e)
		text := strings.TrimPrefix(strings.TrimPrefix(said[f], f.name+":"), f.name+" ")
		all := sentences(text)
		if len(all) == 0 {
			return "", fmt.Errorf("%s: the rule %s has no doc comment", set.Position(e.Pos()), f.name)
		}
		rows = append(rows, []string{"`" + f.name + "`", strings.Join(all, ". ")})
	}
	flush()
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// function is a function, or a method: another type may have one of the same name.
type function struct {
	name     string
	receiver string // the type of a method
}

// functionOf returns the function of a rule: exits, or known.leaks, which is a method of
// excuses.
func functionOf(e ast.Expr) function {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return function{e.Sel.Name, "excuses"}
	case *ast.Ident:
		return function{name: e.Name}
	}
	return function{}
}

// functions returns the doc comments of all functions.
func functions(files []*ast.File) map[function]string {
	said := map[function]string{}
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			of := function{name: fn.Name.Name}
			if fn.Recv != nil {
				t := fn.Recv.List[0].Type
				if pointer, ok := t.(*ast.StarExpr); ok {
					t = pointer.X
				}
				if t, ok := t.(*ast.Ident); ok {
					of.receiver = t.Name
				}
			}
			said[of] = fn.Doc.Text()
		}
	}
	return said
}

// listOf returns the literal in the variable rules, and the comments inside it.
func listOf(files []*ast.File) (list *ast.CompositeLit, comments []*ast.CommentGroup) {
	for _, f := range files {
		for _, d := range f.Decls {
			block, ok := d.(*ast.GenDecl)
			if !ok || block.Tok != token.VAR || len(block.Specs) != 1 {
				continue
			}
			if block.Specs[0].(*ast.ValueSpec).Names[0].Name != "rules" {
				continue
			}
			ast.Inspect(block, func(n ast.Node) bool {
				if lit, ok := n.(*ast.CompositeLit); ok && list == nil {
					list = lit
				}
				return list == nil
			})
			for _, c := range f.Comments {
				if list != nil && c.Pos() > list.Pos() && c.End() < list.End() {
					comments = append(comments, c)
				}
			}
		}
	}
	return list, comments
}
