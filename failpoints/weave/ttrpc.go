package weave

import (
	_ "embed"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
)

// TtrpcModule is the module by which containerd and its shims communicate, in every
// release.
const TtrpcModule = "github.com/containerd/ttrpc"

//go:embed ttrpc_probe.go.txt
var ttrpcProbe []byte

// Ttrpc puts probes around every unary method, in the server and in the caller. It fits
// ttrpc v1.1.0 to v1.2.10.
func Ttrpc() Step { return Step{Module: TtrpcModule, Edit: weaveTtrpc} }

// site is a place of ttrpc's source. weave makes the edits of one declaration and returns
// the number of places that it has found.
type site struct {
	file, what string
	weave      func(f *File, fn *ast.FuncDecl) int
}

var ttrpcSites = []site{
	{"services.go", "a call of s.interceptor or s.unaryInterceptor with 4 arguments", wrapServerInterceptor},
	{"client.go", "in (*Client).Call(..., req, ...), a call of c.interceptor with 5 arguments", wrapClientInterceptor},
	{"server.go", "the head of (*Server).newConn(conn net.Conn, ...)", trackConnection},
}

func weaveTtrpc(dir string) error {
	var missing []error
	for _, s := range ttrpcSites {
		f, err := ParseFile(dir, s.file)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		found := 0
		for _, decl := range f.AST.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				found += s.weave(f, fn)
			}
		}
		if found != 1 {
			missing = append(missing, fmt.Errorf("%w: %s: want %s once, found it %d times", ErrSite, s.file, s.what, found))
			continue
		}
		if err := f.Write(dir); err != nil {
			missing = append(missing, err)
		}
	}
	if err := errors.Join(missing...); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "shimquake_probe.go"), ttrpcProbe, 0o644)
}

func wrapServerInterceptor(f *File, fn *ast.FuncDecl) int {
	return eachCall(fn, 4, []string{"interceptor", "unaryInterceptor"}, func(call *ast.CallExpr) {
		f.Insert(call.Fun.Pos(), "shimquakeServe(")
		f.Insert(call.Fun.End(), ")")
	})
}

func wrapClientInterceptor(f *File, fn *ast.FuncDecl) int {
	if receiver(fn) != "*Client" || fn.Name.Name != "Call" || paramType(fn, "req") == "" ||
		len(fn.Recv.List[0].Names) != 1 {
		return 0
	}
	return eachCall(fn, 5, []string{"interceptor"}, func(call *ast.CallExpr) {
		f.Replace(call.Fun.Pos(), call.Fun.End(), "shimquakeCall("+fn.Recv.List[0].Names[0].Name+", req)")
	})
}

func trackConnection(f *File, fn *ast.FuncDecl) int {
	if receiver(fn) != "*Server" || fn.Name.Name != "newConn" || paramType(fn, "conn") != "net.Conn" {
		return 0
	}
	f.Insert(fn.Body.Lbrace+1, " conn = shimquakeTrack(conn);")
	return 1
}

// eachCall edits the calls of methods with one of the names and that number of arguments.
func eachCall(fn *ast.FuncDecl, args int, names []string, edit func(*ast.CallExpr)) int {
	found := 0
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != args {
			return true
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
			for _, name := range names {
				if sel.Sel.Name == name {
					edit(call)
					found++
				}
			}
		}
		return true
	})
	return found
}

// receiver returns the source text of a method's receiver type, or "" for a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) != 1 {
		return ""
	}
	return types.ExprString(fn.Recv.List[0].Type)
}

// paramType returns the source text of a parameter's type, or "" if there is no such
// parameter.
func paramType(fn *ast.FuncDecl, name string) string {
	for _, field := range fn.Type.Params.List {
		for _, n := range field.Names {
			if n.Name == name {
				return types.ExprString(field.Type)
			}
		}
	}
	return ""
}
