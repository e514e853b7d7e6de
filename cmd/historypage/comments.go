package main

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// comments are what the source says of types and their fields.
type comments struct {
	dir  string
	read map[string]map[string]said // by package and type
}

// said is the comment of a type, and of its fields.
type said struct {
	text   string
	fields map[string]string
}

func (c *comments) ofType(t reflect.Type) (said, error) {
	if c.read == nil {
		c.read = map[string]map[string]said{}
	}
	if c.read[t.PkgPath()] == nil {
		types, err := parse(filepath.Join(c.dir, strings.TrimPrefix(t.PkgPath(), module)))
		if err != nil {
			return said{}, fmt.Errorf("the comments of %s: %w", t.PkgPath(), err)
		}
		c.read[t.PkgPath()] = types
	}
	return c.read[t.PkgPath()][t.Name()], nil
}

// parse reads the package of a folder.
func parse(dir string) (map[string]said, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	types, set := map[string]said{}, token.NewFileSet()
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, filepath.Join(dir, e.Name()), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				collect(g, types)
			}
		}
	}
	return types, nil
}

func collect(g *ast.GenDecl, types map[string]said) {
	for _, spec := range g.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		doc := t.Doc
		if doc == nil {
			doc = g.Doc
		}
		s := said{text: plain(doc), fields: map[string]string{}}
		if st, ok := t.Type.(*ast.StructType); ok {
			for _, f := range st.Fields.List {
				for _, name := range f.Names {
					s.fields[name.Name] = cell(f)
				}
			}
		}
		types[t.Name.Name] = s
	}
}

// cell is what is said over a field, or behind it.
func cell(f *ast.Field) string {
	text := plain(f.Doc)
	if text == "" {
		text = plain(f.Comment)
	}
	return strings.ReplaceAll(text, "|", `\|`)
}

// plain is the first paragraph of a comment, in one line.
func plain(c *ast.CommentGroup) string {
	var p comment.Parser
	doc := p.Parse(c.Text())
	if len(doc.Content) == 0 {
		return ""
	}
	first := comment.Doc{Content: doc.Content[:1]}
	return strings.Join(strings.Fields(string((&comment.Printer{}).Text(&first))), " ")
}
