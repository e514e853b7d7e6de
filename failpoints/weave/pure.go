package weave

import (
	"go/ast"
	"go/token"
	"slices"
)

// pureCalls are the functions of other packages that only compute a value, by the name of
// the package in containerd's files. nil means all functions of the package. A line in
// the log does not count as an effect.
var pureCalls = map[string][]string{
	"bytes": nil, "errdefs": nil, "errgrpc": nil, "errors": nil, "log": nil, "maps": nil, "span": nil, "strconv": nil,
	"strings":  nil,
	"filepath": {"Base", "Clean", "Dir", "Ext", "IsAbs", "Join"},
	"fmt":      {"Errorf", "Sprint", "Sprintf"},
	"path":     {"Base", "Clean", "Dir", "Join"},
	"slices":   {"Clone", "Contains", "Index", "Sort"},
	"time":     {"Now", "Since"},
}

// isPure reports whether a statement only computes and assigns values: it makes no call,
// uses no channel and starts no goroutine. The blocks in it are statements of their own.
// A process that dies before a pure statement leaves the same behind as if it died before
// the next statement. defers is set if the function defers calls, which a return runs.
func isPure(stmt ast.Stmt, defers bool) bool {
	pure := true
	ast.Inspect(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.FuncLit: // statements of their own
			return false
		case *ast.ReturnStmt:
			pure = pure && !defers
		case *ast.DeferStmt: // only its arguments are computed here
			for _, arg := range n.Call.Args {
				pure = pure && isPure(&ast.ExprStmt{X: arg}, defers)
			}
			return false
		case *ast.CallExpr:
			pure = pure && isPureCall(n)
		case *ast.UnaryExpr:
			pure = pure && n.Op != token.ARROW
		case *ast.SendStmt, *ast.SelectStmt, *ast.GoStmt, *ast.RangeStmt: // a range may be over a channel
			pure = false
		}
		return pure
	})
	return pure
}

func isPureCall(call *ast.CallExpr) bool {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return builtins[fun.Name] && fun.Name != "recover"
	case *ast.ArrayType, *ast.MapType, *ast.InterfaceType: // conversions
		return true
	case *ast.SelectorExpr:
		pkg, method := fun, fun.Sel.Name
		for {
			switch x := pkg.X.(type) {
			case *ast.Ident:
				names, known := pureCalls[x.Name]
				return known && (names == nil || slices.Contains(names, method))
			case *ast.CallExpr: // a method of a result: log.G(ctx).Debug
				inner, ok := x.Fun.(*ast.SelectorExpr)
				if !ok {
					return false
				}
				pkg, method = inner, inner.Sel.Name
			default:
				return false
			}
		}
	}
	return false
}

// defersCalls reports whether a function defers calls itself. Calls that its function
// literals defer do not count.
func defersCalls(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		_, ok := n.(*ast.DeferStmt)
		found = found || ok
		return !found
	})
	return found
}
