package weave

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"hash"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
)

// Functions has a digest for each function of a module, by "FOLDER.FUNCTION". The digest
// covers the tokens of its source without comments. "FOLDER.import FILE NAME" is the
// digest of an import. "FOLDER.const NAME" is that of a constant that does not depend on
// the others of its declaration. "FOLDER.var NAME", "FOLDER.type NAME" and "FOLDER.type
// NAME.FIELD" are the digests of other declarations. "FOLDER." covers what acts on a
// whole package.
type Functions map[string]string

// IsDeclared reports whether a key without its folder is that of a variable, a type or a
// field. If only one source has it, it matters only to the functions that use it.
func IsDeclared(name string) bool {
	return strings.HasPrefix(name, "var ") || strings.HasPrefix(name, "type ")
}

// Key returns the key of a statement's function.
func (s Statement) Key() string {
	_, name, _ := strings.Cut(s.Function, ".") // without the package's alias
	return s.Package + "." + name
}

// functionsOf returns the functions of the source of a module that a Linux build reads.
func functionsOf(dir string) (Functions, error) {
	sums := map[string]hash.Hash{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (UnreadFolders[rel] || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !IsSource(d.Name()):
			return nil
		}
		if built, err := isBuilt(filepath.Dir(name), d.Name()); err != nil || !built {
			return nil // a file that no build reads, or that is no Go
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return addFunctions(sums, path.Dir(filepath.ToSlash(rel)), name, src)
	})
	all := Functions{}
	for key, sum := range sums {
		all[key] = hex.EncodeToString(sum.Sum(nil)[:6])
	}
	return all, err
}

// addFunctions adds the tokens of a file to the digests of its functions.
func addFunctions(sums map[string]hash.Hash, folder, name string, src []byte) error {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSite, err)
	}
	decls := parsed.Decls
	file := fset.AddFile(name, -1, len(src)) // for the scanner, which counts lines itself
	var scan scanner.Scanner
	scan.Init(file, src, nil, 0)
	for pos, tok, lit := scan.Scan(); tok != token.EOF; pos, tok, lit = scan.Scan() {
		for len(decls) > 0 && fset.Position(decls[0].End()).Offset <= file.Offset(pos) && tok != token.SEMICOLON {
			decls = decls[1:]
		}
		key := folder + "."
		if len(decls) > 0 && fset.Position(decls[0].Pos()).Offset <= file.Offset(pos) {
			switch d := decls[0].(type) {
			case *ast.FuncDecl:
				key += FunctionName(d)
			case *ast.GenDecl:
				if d.Tok == token.CONST && !areIndependent(d) {
					break // "FOLDER."
				}
				name := declared(d, func(n ast.Node) bool {
					return fset.Position(n.Pos()).Offset <= file.Offset(pos) && file.Offset(pos) < fset.Position(n.End()).Offset
				})
				if name == "" || tok == token.SEMICOLON { // or the keyword, or a parenthesis
					continue
				}
				key += name
			}
		}
		if tok == token.SEMICOLON {
			lit = "" // it is written, or the end of a line stands for it
		}
		if sums[key] == nil {
			sums[key] = sha256.New()
		}
		fmt.Fprintf(sums[key], "%s %s\n", tok, lit)
	}
	for _, is := range parsed.Imports {
		full, _, _ := module.SplitPathVersion(strings.Trim(is.Path.Value, `"`))
		local := path.Base(full)
		if is.Name != nil {
			local = is.Name.Name
		}
		key := folder + ".import " + filepath.Base(name) + " " + local
		if local == "_" || local == "." { // it acts on the whole package
			key = folder + "."
		}
		if sums[key] == nil {
			sums[key] = sha256.New()
		}
		fmt.Fprint(sums[key], is.Path.Value)
	}
	return nil
}

// declared returns the key of the part of a declaration that has a token: of a field, or
// of a name. It returns "" for an import and for a token of no part.
func declared(d *ast.GenDecl, has func(ast.Node) bool) string {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.ValueSpec:
			if has(s) {
				return d.Tok.String() + " " + s.Names[0].Name
			}
		case *ast.TypeSpec:
			if !has(s) {
				continue
			}
			name := "type " + s.Name.Name
			if of, is := s.Type.(*ast.StructType); is {
				for _, f := range of.Fields.List {
					// An embedded field has methods, and reflection reads a tag.
					if has(f) && len(f.Names) > 0 && f.Tag == nil {
						return name + "." + f.Names[0].Name
					}
				}
			}
			return name
		}
	}
	return ""
}

// areIndependent reports whether a declaration has constants each of which has a value of
// its own.
func areIndependent(d *ast.GenDecl) bool {
	return d.Tok == token.CONST && !slices.ContainsFunc(d.Specs, func(s ast.Spec) bool {
		depends := len(s.(*ast.ValueSpec).Values) == 0
		ast.Inspect(s, func(n ast.Node) bool {
			id, is := n.(*ast.Ident)
			depends = depends || is && id.Name == "iota"
			return true
		})
		return depends
	})
}
