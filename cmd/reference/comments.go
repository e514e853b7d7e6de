package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// parse reads the declarations of a package with their doc comments.
func parse(dir string) (*doc.Package, *token.FileSet, []*ast.File, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, parseErr := parser.ParseFile(set, name, nil, parser.ParseComments)
		err = errors.Join(err, parseErr)
		files = append(files, f)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	p, err := doc.NewFromFiles(set, files, dir, doc.AllDecls|doc.PreserveAST)
	return p, set, files, err
}

// sentenceEnd is the end of a sentence, before the next one.
var sentenceEnd = regexp.MustCompile(`\.\s+\p{Lu}`)

// sentences returns the sentences of a comment, without their full stops.
func sentences(comment string) (all []string) {
	text := strings.Join(strings.Fields(comment), " ")
	for text != "" {
		end := sentenceEnd.FindStringIndex(text)
		if end == nil {
			return append(all, strings.TrimSuffix(text, "."))
		}
		all = append(all, text[:end[0]])
		text = text[end[0]+2:]
	}
	return all
}

// keys returns the table of the keys of a type of package harness.
func keys(dir, typeName string) (string, error) {
	p, _, _, err := parse(filepath.Join(dir, "harness"))
	if err != nil {
		return "", err
	}
	types := map[string]*doc.Type{}
	for _, t := range p.Types {
		types[t.Name] = t
	}
	if types[typeName] == nil {
		return "", fmt.Errorf("harness has no struct %s", typeName)
	}
	var rows [][]string
	for _, f := range types[typeName].Decl.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType).Fields.List {
		row, keyErr := keyOf(f, types)
		err = errors.Join(err, keyErr)
		rows = append(rows, row)
	}
	return table([]string{"key", "value", "what it does", "only by", "default"}, rows), err
}

// keyOf returns the row of the key of one field. If the field has no comment, keyOf takes
// the comment of its type.
func keyOf(f *ast.Field, types map[string]*doc.Type) ([]string, error) {
	name := f.Names[0].Name
	tag, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	key, _, _ := strings.Cut(reflect.StructTag(tag).Get("yaml"), ",")
	all := sentences(f.Doc.Text())
	if of, ok := f.Type.(*ast.Ident); ok && len(all) == 0 && types[of.Name] != nil {
		name, all = of.Name, sentences(types[of.Name].Doc)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no doc comment", name)
	}
	client, unset := "", ""
	for _, s := range all[1:] {
		switch {
		case strings.HasPrefix(s, "Task API only"):
			client = "task"
		case strings.HasPrefix(s, "CRI only"):
			client = "cri"
		case strings.HasPrefix(s, "Default: "):
			unset = strings.TrimPrefix(s, "Default: ")
		}
	}
	return []string{"`" + key + "`", valueOf(f.Type), strings.TrimPrefix(all[0], name+" "), client, unset}, nil
}

// valueOf names the form of a value, for people that write YAML.
func valueOf(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.ArrayType:
		return "list"
	case *ast.SelectorExpr:
		if t.Sel.Name == "Duration" {
			return "time"
		}
	case *ast.Ident:
		return cmp.Or(map[string]string{"bool": "true", "int": "number"}[t.Name], "word")
	}
	return "word"
}

// constant is one constant of a block.
type constant struct{ name, value, comment string }

// constants returns the block of constants of a package whose first one has a name. The
// comment of each is above it, or behind it on the line.
func constants(dir, first string) (all []constant, err error) {
	p, _, _, err := parse(dir)
	if err != nil {
		return nil, err
	}
	blocks := p.Consts
	for _, t := range p.Types {
		blocks = append(blocks, t.Consts...)
	}
	for _, block := range blocks {
		if block.Names[0] != first {
			continue
		}
		for _, s := range block.Decl.Specs {
			spec := s.(*ast.ValueSpec)
			comment := strings.Join(strings.Fields(cmp.Or(spec.Comment.Text(), spec.Doc.Text())), " ")
			c := constant{name: spec.Names[0].Name, comment: strings.TrimSuffix(comment, ".")}
			if len(spec.Values) > 0 {
				if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
					c.value = lit.Value
				}
			}
			all = append(all, c)
		}
		return all, nil
	}
	return nil, fmt.Errorf("%s has no block of constants that begins with %s", dir, first)
}
