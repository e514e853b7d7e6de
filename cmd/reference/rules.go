package main

import (
	"fmt"
	"go/ast"
	"go/doc"
	"path/filepath"
	"strings"
)

// rules returns the tables of the judge's rules: one for each comment in the list of
// rules (harness/judge/judge.go), in its order.
func rules(dir string) (string, error) {
	p, set, files, err := parse(filepath.Join(dir, "harness/judge"))
	if err != nil {
		return "", err
	}
	said := map[string]string{} // the comments of functions, and of the methods of excuses
	note := func(all []*doc.Func) {
		for _, f := range all {
			said[f.Name] = f.Doc
		}
	}
	note(p.Funcs)
	for _, t := range p.Types {
		note(t.Funcs)
		if t.Name == "excuses" {
			note(t.Methods)
		}
	}
	var list *ast.CompositeLit
	for _, v := range p.Vars {
		if v.Names[0] == "rules" {
			ast.Inspect(v.Decl, func(n ast.Node) bool {
				if lit, ok := n.(*ast.CompositeLit); ok && list == nil {
					list = lit
				}
				return list == nil
			})
		}
	}
	if list == nil {
		return "", fmt.Errorf("harness/judge has no list named rules")
	}
	var comments []*ast.CommentGroup
	for _, f := range files {
		for _, c := range f.Comments {
			if c.Pos() > list.Pos() && c.End() < list.End() {
				comments = append(comments, c)
			}
		}
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
		name := ""
		switch e := e.(type) {
		case *ast.SelectorExpr: // known.leaks, a method of excuses
			name = e.Sel.Name
		case *ast.Ident:
			name = e.Name
		}
		all := sentences(strings.TrimPrefix(strings.TrimPrefix(said[name], name+":"), name+" "))
		if len(all) == 0 {
			return "", fmt.Errorf("%s: the rule %s has no doc comment", set.Position(e.Pos()), name)
		}
		rows = append(rows, []string{"`" + name + "`", strings.Join(all, ". ")})
	}
	flush()
	return strings.TrimSuffix(b.String(), "\n"), nil
}
