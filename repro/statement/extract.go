package statement

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/failpoints/weave"
)

// skipped are folders whose code does not run in containerd on a node.
var skipped = []string{
	"vendor", "integration", "contrib", "test", "testutil", "testsuite", "script", "docs", "releases", "api",
}

// Extract returns the statements in the source of a release, also repeated ones. It
// recognises a call by its name, so it needs no build. A file that cannot be parsed is an
// error.
func Extract(module fs.FS, release string) ([]Statement, error) {
	var all []Statement
	err := fs.WalkDir(module, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (slices.Contains(skipped, d.Name()) || strings.HasSuffix(d.Name(), "test")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || foreign(name):
			return nil
		}
		text, err := fs.ReadFile(module, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("read the source of %s: %w", release, err)
		}
		for _, decl := range file.Decls {
			all = append(all, inDecl(decl)...)
		}
		return nil
	})
	for i := range all {
		all[i].Releases = []string{release}
	}
	return all, err
}

// foreign reports whether a file is a test, is generated, or is for another operating
// system.
func foreign(name string) bool {
	base := strings.TrimSuffix(path.Base(name), ".go")
	return strings.HasSuffix(name, ".pb.go") || slices.ContainsFunc(
		[]string{"_test", "_windows", "_darwin", "_freebsd", "_solaris", "_openbsd", "_other", "_unsupported"},
		func(suffix string) bool { return strings.HasSuffix(base, suffix) })
}

func inDecl(decl ast.Decl) (all []Statement) {
	of, makesText := "", false
	if f, ok := decl.(*ast.FuncDecl); ok {
		of, makesText = weave.FunctionName(f), f.Recv != nil && f.Name.Name == "Error" // the text of an error's type
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			s, ok := inCall(call)
			if !ok && makesText {
				s, ok = inSprintf(call)
			}
			if ok {
				s.Func = of
				all = append(all, s)
			}
		}
		return true
	})
	return all
}

// loggers are the methods of logrus and of containerd's log package, without f and ln.
var loggers = []string{"Trace", "Debug", "Info", "Warn", "Warning", "Error", "Fatal", "Panic", "Print"}

func inCall(call *ast.CallExpr) (s Statement, ok bool) {
	sel, isMethod := call.Fun.(*ast.SelectorExpr)
	if !isMethod {
		return s, false
	}
	on, name := identOf(sel.X), sel.Sel.Name
	switch {
	case on == "fmt" && name == "Errorf", on == "errors" && name == "New":
		return made(call.Args, 0)
	case on == "status" && (name == "Error" || name == "Errorf"):
		return made(call.Args, 1)
	case on == "errors" && (name == "Wrap" || name == "Wrapf"),
		name == "ToGRPCf": // errdefs until 2.0, errgrpc after
		s, ok = made(call.Args, 1)
		s.Format += ": %w"
		return s, ok
	case !slices.Contains(loggers, strings.TrimSuffix(strings.TrimSuffix(name, "f"), "ln")),
		on == "fmt" || on == "t" || on == "b":
		return s, false
	}
	s, ok = made(call.Args, 0)
	s.Kind = Log
	return s, ok
}

// inSprintf returns the statement of a call of fmt.Sprintf.
func inSprintf(call *ast.CallExpr) (Statement, bool) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || identOf(sel.X) != "fmt" || sel.Sel.Name != "Sprintf" {
		return Statement{}, false
	}
	return made(call.Args, 0)
}

// made returns the statement of a call. Its format is the argument with the index at.
func made(args []ast.Expr, at int) (Statement, bool) {
	if len(args) <= at {
		return Statement{}, false
	}
	text, ok := literalOf(args[at])
	if !ok || strings.TrimSpace(text) == "" {
		return Statement{}, false
	}
	return Statement{Kind: Error, Format: wrapping(text, args[at+1:])}, true
}

// wrapping replaces %v with %w if its argument is an error, because older source has %v
// there.
func wrapping(format string, args []ast.Expr) string {
	n := 0
	return verb.ReplaceAllStringFunc(format, func(v string) string {
		if strings.HasSuffix(v, "%") {
			return v
		}
		n++
		if n <= len(args) && strings.HasSuffix(v, "v") && isError(args[n-1]) {
			return "%w"
		}
		return v
	})
}

// isError reports whether an expression has the name of an error, such as err, readErr or
// err.Error().
func isError(e ast.Expr) bool {
	if call, ok := e.(*ast.CallExpr); ok {
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Error" {
			return isError(sel.X)
		}
		return false
	}
	name := strings.ToLower(identOf(e))
	return name == "err" || strings.HasSuffix(name, "err") || strings.HasPrefix(name, "err")
}

func identOf(e ast.Expr) string {
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// literalOf returns the text of a string literal, or of a concatenation of literals.
func literalOf(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		a, left := literalOf(e.X)
		b, right := literalOf(e.Y)
		switch {
		case e.Op != token.ADD || !left && !right:
			return "", false
		case !left:
			a = "%v"
		case !right:
			b = "%v"
		}
		return a + b, true
	case *ast.ParenExpr:
		return literalOf(e.X)
	case *ast.CallExpr: // log.Error(fmt.Sprintf("...", x))
		s, ok := inSprintf(e)
		return s.Format, ok
	}
	return "", false
}
