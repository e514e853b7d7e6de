package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// parse reads the Go files of a folder, without its tests.
func parse(dir string) (*token.FileSet, []*ast.File, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, nil, err
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, f)
	}
	return set, files, nil
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

// key is a key of a case file. Its text comes from the Go field.
type key struct{ name, value, does, client, unset string }

// keys returns the table of the keys of a type of package harness.
func keys(dir, typeName string) (string, error) {
	_, files, err := parse(filepath.Join(dir, "harness"))
	if err != nil {
		return "", err
	}
	types := typeComments(files)
	var rows [][]string
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != typeName {
				return true
			}
			fields, ok := spec.Type.(*ast.StructType)
			for i := 0; ok && i < len(fields.Fields.List); i++ {
				k, kerr := keyOf(fields.Fields.List[i], types)
				err = errors.Join(err, kerr)
				rows = append(rows, []string{"`" + k.name + "`", k.value, k.does, k.client, k.unset})
			}
			return false
		})
	}
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("harness has no struct %s", typeName)
	}
	return table([]string{"key", "value", "what it does", "only by", "default"}, rows), err
}

// typeComments returns the doc comments of types.
func typeComments(files []*ast.File) map[string]string {
	said := map[string]string{}
	for _, f := range files {
		for _, d := range f.Decls {
			block, ok := d.(*ast.GenDecl)
			if !ok || block.Tok != token.TYPE || len(block.Specs) != 1 {
				continue
			}
			said[block.Specs[0].(*ast.TypeSpec).Name.Name] = block.Doc.Text()
		}
	}
	return said
}

// keyOf describes the key of one field. If the field has no comment, keyOf takes the
// comment of its type.
func keyOf(f *ast.Field, types map[string]string) (key, error) {
	name := f.Names[0].Name
	tag, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return key{}, fmt.Errorf("%s: %w", name, err)
	}
	k := key{value: valueOf(f.Type)}
	k.name, _, _ = strings.Cut(reflect.StructTag(tag).Get("yaml"), ",")
	all := sentences(f.Doc.Text())
	if of, ok := f.Type.(*ast.Ident); ok && len(all) == 0 {
		name, all = of.Name, sentences(types[of.Name])
	}
	if len(all) == 0 {
		return key{}, fmt.Errorf("%s has no doc comment", name)
	}
	k.does = strings.TrimPrefix(all[0], name+" ")
	for _, s := range all[1:] {
		switch {
		case strings.HasPrefix(s, "Task API only"):
			k.client = "task"
		case strings.HasPrefix(s, "CRI only"):
			k.client = "cri"
		case strings.HasPrefix(s, "Default: "):
			k.unset = strings.TrimPrefix(s, "Default: ")
		}
	}
	return k, nil
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
		switch t.Name {
		case "bool":
			return "true"
		case "int":
			return "number"
		}
	}
	return "word"
}

// constant is one constant of a block.
type constant struct{ name, value, comment string }

// constants returns the constants of the first block of a file, or of the block of the
// type. The comment of each is above it, or behind it on the line.
func constants(dir, file, typeName string) (all []constant, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file), nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, d := range f.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST || typeName != "" && !isOf(block, typeName) {
			continue
		}
		for _, s := range block.Specs {
			spec := s.(*ast.ValueSpec)
			c := constant{name: spec.Names[0].Name, comment: strings.TrimSpace(spec.Comment.Text())}
			if c.comment == "" {
				c.comment = strings.TrimSpace(spec.Doc.Text())
			}
			if len(spec.Values) > 0 {
				if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
					c.value = lit.Value
				}
			}
			c.comment = strings.TrimSuffix(strings.Join(strings.Fields(c.comment), " "), ".")
			all = append(all, c)
		}
		return all, nil
	}
	return nil, fmt.Errorf("%s has no block of constants", file)
}

// isOf reports whether the first constant of a block has the type.
func isOf(block *ast.GenDecl, typeName string) bool {
	name, ok := block.Specs[0].(*ast.ValueSpec).Type.(*ast.Ident)
	return ok && name.Name == typeName
}
