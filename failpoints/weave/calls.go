package weave

import (
	"go/ast"
	"regexp"
	"strings"
)

// The source text decides which calls of a statement can be made to fail. Types would
// need a check of every dependency of a release first. A call that is wrapped by mistake
// does not compile, so a mistake is noticed.

// builtins are not values. Of these, only recover has a result that may be called err.
var builtins = set("append cap copy len make max min new recover any error string int int32 int64 uint32 uint64 byte")

// makers are packages whose functions make an error of an error or a text. They cannot
// fail.
var makers = set("errors errdefs errgrpc errhttp status")

// notValues are generic functions and conversions of other packages, which cannot be used
// as a value.
var notValues = set("shim.ReadRuntimeOptions unix.Errno syscall.Errno")

// set returns the words of a text.
func set(words string) map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		all[w] = true
	}
	return all
}

// local returns the names of a package's types and generic functions, which cannot be
// used as a function value.
func local(files []*File) map[string]bool {
	names := map[string]bool{}
	for _, f := range files {
		for _, decl := range f.AST.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Type.TypeParams != nil {
					names[d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if t, ok := spec.(*ast.TypeSpec); ok {
						names[t.Name.Name] = true
					}
				}
			}
		}
	}
	return names
}

// errorName matches containerd's names of errors: err, retErr, err2, and an err with one
// letter before it. If the last result is no error after all, Fn returns the function
// unchanged.
var errorName = regexp.MustCompile(`^([a-z]?err|.*Err)[0-9]*$`)

// failing returns the call whose last result is the statement's error, or nil.
// returnsError means that the last result of the enclosing function is an error.
func (p *walker) failing(s ast.Stmt, returnsError bool) *ast.CallExpr {
	var e ast.Expr
	switch s := s.(type) {
	case *ast.IfStmt:
		return p.failing(s.Init, false)
	case *ast.SwitchStmt:
		return p.failing(s.Init, false)
	case *ast.AssignStmt:
		if id, ok := s.Lhs[len(s.Lhs)-1].(*ast.Ident); ok && len(s.Rhs) == 1 && errorName.MatchString(id.Name) {
			e = s.Rhs[0]
		}
	case *ast.ReturnStmt:
		if returnsError && len(s.Results) > 0 {
			e = s.Results[len(s.Results)-1]
		}
	}
	if call, ok := e.(*ast.CallExpr); ok && p.wrappable(call.Fun) {
		return call
	}
	return nil
}

// wrappable reports whether a called expression is a function value, and not only makes
// an error.
func (p *walker) wrappable(fun ast.Expr) bool {
	switch f := fun.(type) {
	case *ast.Ident:
		return !builtins[f.Name] && !p.local[f.Name]
	case *ast.SelectorExpr:
		x, ok := f.X.(*ast.Ident)
		if !ok {
			return f.Sel.Name != "Err"
		}
		return !makers[x.Name] && !notValues[x.Name+"."+f.Sel.Name] && f.Sel.Name != "Err" && (x.Name != "fmt" ||
			f.Sel.Name != "Errorf")
	}
	return false // a function literal, an instantiation, a conversion
}

// returnsError reports whether a function's last result is written as error.
func returnsError(t *ast.FuncType) bool {
	if t.Results == nil || len(t.Results.List) == 0 {
		return false
	}
	id, ok := t.Results.List[len(t.Results.List)-1].Type.(*ast.Ident)
	return ok && id.Name == "error"
}
