package weave

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// Statement is a woven statement: a point that a fault can be placed at.
type Statement struct {
	Name     string `json:"name"`     // the point: stmt:PROCESS:PACKAGE.FUNCTION:TEXT
	Number   int    `json:"number"`   // of the probe, from 1; of one build only.
	Who      string `json:"who"`      // containerd or shim
	Package  string `json:"package"`  // its folder in the module.
	Function string `json:"function"` // with its package's alias: runtime.binary.Start
	File     string `json:"file"`     // relative to the module's folder
	Line     int    `json:"line"`
	Text     string `json:"text"` // its first line
	Call     bool   `json:"call"` // takes error and loseResult
	Ctx      bool   `json:"ctx"`  // takes cancel and deadline
	Effect   Effect `json:"effect"`
}

// Place returns the place of the statement as editors write it: FILE:LINE in the module.
func (s Statement) Place() string { return fmt.Sprintf("%s:%d", s.File, s.Line) }

// Table holds the statements and the functions of a build, once it is woven.
type Table struct {
	Statements []Statement
	Functions  Functions
}

// registerFile is the file that is added to each woven package.
const registerFile = "shimquake_statements.go"

// BuildTags are the tags of one of the two binaries of a release; the other has none. A
// file is woven if one of the two builds reads it.
var BuildTags = []string{"urfave_cli_no_docs", "no_grpc"}

// Statements puts a probe before every statement of containerd's and the shim's lifecycle
// code and fills the table. module is containerd's path.
//
// It returns ErrSite if the source differs from folders.yaml. Otherwise a package or a
// function that has moved would be missing without a notice.
func Statements(module string, table *Table) Step {
	return Step{Module: module, Edit: func(dir string) error {
		g, err := generation(module, dir)
		if err != nil {
			return err
		}
		table.Statements = nil
		if table.Functions, err = functionsOf(dir); err != nil {
			return err
		}
		for _, pkg := range g.Packages {
			if err := weavePackage(dir, pkg, table); err != nil {
				return err
			}
		}
		return allowGenerics(filepath.Join(dir, "go.mod"))
	}}
}

// allowGenerics raises the language version of a module to the version that Fn needs.
// v1.6.8 has 1.17, the last one without generics.
func allowGenerics(goMod string) error {
	const generics = "1.18"
	return editModFile(goMod, func(f *modfile.File) error {
		if f.Go != nil && semver.Compare("v"+f.Go.Version, "v"+generics) >= 0 {
			return nil
		}
		return f.AddGoStmt(generics)
	})
}

var versionLine = regexp.MustCompile(`(?m)^\s*(?:var\s+)?Version\s*=\s*"v?([0-9]+\.[0-9][^"]*)"`)

// generation returns the line of releases of a source by its version/version.go, which a
// checkout has, too.
func generation(module, dir string) (Generation, error) {
	const name = "version/version.go"
	src, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return Generation{}, fmt.Errorf("%w: it has no %s to tell its version by: %w", ErrSite, name, err)
	}
	m := versionLine.FindSubmatch(src)
	if m == nil {
		return Generation{}, fmt.Errorf("%w: %s sets no Version", ErrSite, name)
	}
	for _, g := range Generations() {
		if g.Module == module && strings.HasPrefix(string(m[1]), g.Versions) {
			return g, nil
		}
	}
	return Generation{}, fmt.Errorf(
		"%w: the folders of the lifecycle code of containerd %s (module %s) are unknown: add its folders to "+
			"failpoints/weave/folders.yaml, or build it stock",
		ErrSite,
		m[1],
		module,
	)
}

func weavePackage(dir string, pkg Package, table *Table) error {
	files, err := parsePackage(dir, pkg.Folder)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf(
			"%w: %s is gone from this containerd: has it moved? add its new folder to failpoints/weave/folders.yaml",
			ErrSite,
			pkg.Folder,
		)
	}
	funcs, err := pkg.choose(files)
	if err != nil {
		return err
	}
	base, names := len(table.Statements)+1, namer{pkg, map[string]int{}}
	notValues, effects := local(files), effectsOf(files, funcs)
	for _, f := range files {
		w := &walker{File: f, local: notValues, effects: effects, context: contextType(f.AST)}
		w.add = func(function string, pos token.Position, s Statement) int {
			s.Name, s.Number = names.name(function, s.Text), len(table.Statements)+1
			s.Who, s.Package, s.Function = pkg.Who, pkg.Folder, pkg.Alias+"."+function
			s.File, s.Line = f.Name, pos.Line
			table.Statements = append(table.Statements, s)
			return s.Number
		}
		for _, fn := range funcs[f] {
			w.weave(fn)
		}
		if !w.woven {
			continue
		}
		f.Insert(f.AST.Name.End(), "; import shimquake "+strconv.Quote(ProbeModule))
		if err := f.Write(dir); err != nil {
			return err
		}
	}
	if len(table.Statements) < base {
		return fmt.Errorf(
			"%w: %s holds no statement to weave: has its code moved? see failpoints/weave/folders.yaml",
			ErrSite,
			pkg.Folder,
		)
	}
	return os.WriteFile(
		filepath.Join(dir, pkg.Folder, registerFile),
		register(files[0].AST.Name.Name, base, table.Statements[base-1:]),
		0o644,
	)
}

// register returns the file that gives the probe the names of a package's statements.
func register(pkg string, base int, statements []Statement) []byte {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"package %s\n\nimport shimquake %q\n\nvar _ = shimquake.Register(%d, []string{\n",
		pkg,
		ProbeModule,
		base,
	)
	for _, s := range statements {
		fmt.Fprintf(&b, "\t%q,\n", s.Name)
	}
	b.WriteString("})\n")
	return []byte(b.String())
}

// parsePackage parses the files of a folder that a Linux build reads, in the order of
// their names.
func parsePackage(dir, folder string) ([]*File, error) {
	entries, err := os.ReadDir(filepath.Join(dir, folder))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var files []*File
	for _, e := range entries {
		if e.IsDir() || !IsSource(e.Name()) {
			continue
		}
		built, err := isBuilt(filepath.Join(dir, folder), e.Name())
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrSite, path.Join(folder, e.Name()), err)
		}
		if !built {
			continue
		}
		f, err := ParseFile(dir, path.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// isBuilt reports whether one of the builds reads a file.
func isBuilt(dir, name string) (bool, error) {
	for _, tags := range [][]string{nil, BuildTags} {
		ctxt := build.Default
		ctxt.GOOS, ctxt.CgoEnabled, ctxt.BuildTags = "linux", false, tags
		if ok, err := ctxt.MatchFile(dir, name); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// choose returns the functions to weave, by their files. Every pattern and every name of
// the package must match.
func (p Package) choose(files []*File) (map[*File][]*ast.FuncDecl, error) {
	met := map[string]bool{}
	funcs := map[*File][]*ast.FuncDecl{}
	for _, f := range files {
		whole := len(p.Files) == 0
		for _, pattern := range p.Files {
			if ok, err := path.Match(pattern, path.Base(f.Name)); err != nil {
				return nil, err
			} else if ok {
				met[pattern], whole = true, true
			}
		}
		for _, decl := range f.AST.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || slices.Contains(p.Leave, fn.Name.Name) {
				continue
			}
			also := slices.Contains(p.Also, FunctionName(fn))
			if also {
				met[FunctionName(fn)] = true
			}
			if whole || also {
				funcs[f] = append(funcs[f], fn)
			}
		}
	}
	for _, wanted := range slices.Concat(p.Files, p.Also) {
		if !met[wanted] {
			return nil, fmt.Errorf(
				"%w: %s of %s is gone from this containerd: has it moved? say where it is in failpoints/weave/folders.yaml",
				ErrSite,
				wanted,
				p.Folder,
			)
		}
	}
	return funcs, nil
}
