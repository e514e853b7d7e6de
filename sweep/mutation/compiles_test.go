package mutation

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/shimquake/shimquake/must"
)

// checker checks the types of changed packages of a module. Their unchanged imports were
// compiled once, which is most of the work.
type checker struct {
	dir      string
	fset     *token.FileSet
	packages map[string]*packages.Package // the packages that may change, by import path
	imported map[string]*types.Package    // imported by any of them
}

// loadChecker loads the packages that mutations change. The flags are the same as in the
// builds of subjects, so that Go's cache has their imports.
func loadChecker(t *testing.T, dir string, all []Mutation) *checker {
	t.Helper()
	c := &checker{dir: dir, fset: token.NewFileSet(),
		packages: map[string]*packages.Package{}, imported: map[string]*types.Package{}}
	var folders []string
	for _, m := range all {
		folders = append(folders, m.Packages()...)
	}
	loaded := must.Get(packages.Load(&packages.Config{
		Context: t.Context(), Dir: dir, Fset: c.fset, BuildFlags: []string{"-mod=readonly", "-trimpath"},
		Env:  append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0", "PWD="+dir),
		Mode: packages.LoadSyntax | packages.NeedModule,
	}, folders...))(t)
	for _, p := range loaded {
		for _, e := range p.Errors {
			t.Fatal(e)
		}
		c.packages[p.PkgPath] = p
		for path, other := range p.Imports {
			c.imported[path] = other.Types
		}
	}
	return c
}

// compiles returns the errors in the packages of changed files. The texts have the files'
// names within the module.
func (c *checker) compiles(texts map[string]string) error {
	changed := map[string]map[string]string{} // texts by import path and full name
	for file, text := range texts {
		name, found := filepath.Join(c.dir, file), false
		for path, p := range c.packages {
			for _, f := range p.CompiledGoFiles {
				if f == name {
					found = true
					if changed[path] == nil {
						changed[path] = map[string]string{}
					}
					changed[path][name] = text
				}
			}
		}
		if !found {
			return fmt.Errorf("%s is no part of a package here: its build constraints leave it out", file)
		}
	}
	w := &changedPackages{checker: c, texts: changed, done: map[string]*types.Package{}}
	var errs []error
	for path := range changed {
		_, err := w.Import(path)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// changedPackages imports changed packages, and the compiled form of unchanged ones.
type changedPackages struct {
	*checker
	texts map[string]map[string]string
	done  map[string]*types.Package
}

func (w *changedPackages) Import(path string) (*types.Package, error) {
	texts, changed := w.texts[path]
	if !changed {
		if p := w.imported[path]; p != nil {
			return p, nil
		}
		return nil, fmt.Errorf("%s is imported by none of the packages that mutations change", path)
	}
	if p, begun := w.done[path]; p != nil {
		return p, nil
	} else if begun {
		return nil, fmt.Errorf("%s imports itself", path)
	}
	w.done[path] = nil
	p := w.packages[path]
	var files []*ast.File
	for i, name := range p.CompiledGoFiles {
		file := p.Syntax[i]
		if text, ok := texts[name]; ok {
			var err error
			if file, err = parser.ParseFile(w.fset, name, text, parser.SkipObjectResolution); err != nil {
				return nil, err
			}
		}
		files = append(files, file)
	}
	var errs []error
	check := types.Config{
		Importer: w, Sizes: p.TypesSizes, GoVersion: "go" + p.Module.GoVersion,
		Error: func(err error) { errs = append(errs, err) },
	}
	checked, _ := check.Check(path, w.fset, files, nil) // errs has its error
	w.done[path] = checked
	return checked, errors.Join(errs...)
}
