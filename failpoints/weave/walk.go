package weave

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// walker weaves the functions of one file.
type walker struct {
	*File
	local    map[string]bool // names of the package, see local
	effects  effects
	context  string // the file's name for context.Context; "" without the import
	add      func(function string, pos token.Position, s Statement) int
	function string // the current one
	woven    bool   // the file has changed
}

// scope is the state at a statement.
type scope struct {
	ctx          bool   // ctx is certainly a context.Context here
	returnsError bool   // the function's last result is an error
	returns      Effect // of a return from the function
}

// weave weaves a function.
func (p *walker) weave(fn *ast.FuncDecl) {
	if fn.Body == nil || len(fn.Body.List) == 0 {
		return
	}
	p.function = FunctionName(fn)
	s := scope{returnsError: returnsError(fn.Type), returns: p.effects.returns(fn.Body, !fn.Name.IsExported())}
	s.ctx, _ = p.takesContext(fn.Type)
	if fn.Recv == nil && fn.Name.Name == "init" {
		p.literals(fn.Body) // init runs before main; its closures are plugins, which run later
		return
	}
	if s.ctx {
		p.Insert(fn.Body.Lbrace+1, " ctx = shimquake.Request(ctx);")
		p.woven = true
	}
	p.statements(fn.Body.List, s)
}

// statements weaves the statements of a block or of a clause.
func (p *walker) statements(list []ast.Stmt, s scope) {
	for _, stmt := range list {
		if wanted(stmt) {
			p.statement(stmt, s)
		}
		p.inside(stmt, s)
		if ctx, defined := definesCtx(stmt); defined {
			s.ctx = ctx
		}
	}
}

// wanted leaves out statements without an effect at run time.
func wanted(stmt ast.Stmt) bool {
	switch d := stmt.(type) {
	case *ast.EmptyStmt, *ast.CaseClause, *ast.CommClause: // the last two are the body of a switch or a select
		return false
	case *ast.DeclStmt:
		decl, ok := d.Decl.(*ast.GenDecl)
		return ok && decl.Tok == token.VAR
	}
	return true
}

func (p *walker) statement(stmt ast.Stmt, s scope) {
	p.woven = true
	inner := stmt
	for labeled, ok := inner.(*ast.LabeledStmt); ok; labeled, ok = inner.(*ast.LabeledStmt) {
		inner = labeled.Stmt
	}
	call := p.failing(inner, s.returnsError)
	n := p.add(p.function, p.Fset.Position(stmt.Pos()),
		Statement{Text: p.firstLine(stmt), Call: call != nil, Ctx: s.ctx, Effect: p.effects.of(inner, s.returns)})
	if s.ctx {
		p.Insert(stmt.Pos(), fmt.Sprintf("shimquake.AtCtx(%d, ctx); ", n))
	} else {
		p.Insert(stmt.Pos(), fmt.Sprintf("shimquake.At(%d); ", n))
	}
	if call != nil {
		p.Insert(call.Fun.Pos(), fmt.Sprintf("shimquake.Fn(%d, ", n))
		p.Insert(call.Fun.End(), ")")
	}
}

// inside weaves the blocks and function literals in a statement.
func (p *walker) inside(root ast.Node, s scope) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			p.statements(n.List, s)
			return false
		case *ast.CaseClause:
			for _, e := range n.List {
				p.inside(e, s)
			}
			p.statements(n.Body, s)
			return false
		case *ast.CommClause:
			if n.Comm != nil {
				p.inside(n.Comm, s)
			}
			p.statements(n.Body, s.after(n.Comm))
			return false
		case *ast.FuncLit:
			p.literal(n, s)
			return false
		case *ast.IfStmt:
			s = s.after(n.Init)
			if elseIf, ok := n.Else.(*ast.IfStmt); ok {
				p.inside(&ast.IfStmt{If: n.If, Init: n.Init, Cond: n.Cond, Body: n.Body}, s)
				p.elseIf(elseIf, s)
				return false
			}
		case *ast.ForStmt:
			s = s.after(n.Init)
		case *ast.SwitchStmt:
			s = s.after(n.Init)
		case *ast.TypeSwitchStmt:
			s = s.after(n.Init).after(n.Assign)
		case *ast.RangeStmt:
			if isCtx(n.Key) || isCtx(n.Value) {
				s.ctx = false
			}
		}
		return true
	})
}

// elseIf turns `else if` into a statement of its own: `else { if ... }` is the same.
func (p *walker) elseIf(stmt *ast.IfStmt, s scope) {
	p.Insert(stmt.Pos(), "{ ")
	p.statement(stmt, s)
	p.inside(stmt, s)
	p.Insert(stmt.End(), " }")
}

// literals weaves the function literals of a function, and nothing else of it.
func (p *walker) literals(body *ast.BlockStmt) {
	ast.Inspect(body, func(n ast.Node) bool {
		lit, ok := n.(*ast.FuncLit)
		if ok {
			p.literal(lit, scope{})
		}
		return !ok
	})
}

// literal weaves a function literal. It uses an outer ctx only if the literal itself uses
// it: a new capture can change the lifetime of ctx.
func (p *walker) literal(lit *ast.FuncLit, s scope) {
	inner := scope{returnsError: returnsError(lit.Type), returns: p.effects.returns(lit.Body, false)}
	ctx, hasCtx := p.takesContext(lit.Type)
	inner.ctx = ctx || !hasCtx && s.ctx && mentionsCtx(lit.Body)
	p.statements(lit.Body.List, inner)
}

// takesContext reports whether a function has a parameter or result that is called ctx,
// and whether that is a parameter and a context.
func (p *walker) takesContext(t *ast.FuncType) (ctx, named bool) {
	for i, list := range []*ast.FieldList{t.Params, t.Results} {
		if list == nil {
			continue
		}
		for _, field := range list.List {
			for _, name := range field.Names {
				if isCtx(name) {
					return i == 0 && p.context != "" && types.ExprString(field.Type) == p.context, true
				}
			}
		}
	}
	return false, false
}

func (s scope) after(stmt ast.Stmt) scope {
	if ctx, defined := definesCtx(stmt); defined {
		s.ctx = ctx
	}
	return s
}

// definesCtx reports whether a statement declares a ctx for the statements after it, and
// whether it is certainly a context. Every `ctx := f(...)` in containerd is a context;
// otherwise the build fails.
func definesCtx(stmt ast.Stmt) (ctx, defined bool) {
	switch s := stmt.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			for _, e := range s.Lhs {
				if isCtx(e) {
					_, call := s.Rhs[0].(*ast.CallExpr)
					return call, true
				}
			}
		}
	case *ast.DeclStmt:
		if decl, ok := s.Decl.(*ast.GenDecl); ok && decl.Tok == token.VAR {
			for _, spec := range decl.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if isCtx(name) {
						return false, true // it may be nil or of another type
					}
				}
			}
		}
	}
	return false, false
}

func isCtx(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id != nil && id.Name == "ctx"
}

func mentionsCtx(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok { // x.ctx is another variable
			found = found || mentionsCtx(sel.X)
			return false
		}
		if e, ok := n.(ast.Expr); ok {
			found = found || isCtx(e)
		}
		return !found
	})
	return found
}

// firstLine returns the text of a statement up to the end of its line, without a comment.
func (p *walker) firstLine(stmt ast.Stmt) string {
	start, end := p.Fset.Position(stmt.Pos()).Offset, p.Fset.Position(stmt.End()).Offset
	if i := bytes.IndexByte(p.src[start:end], '\n'); i >= 0 {
		end = start + i
	}
	for _, c := range p.AST.Comments {
		if at := p.Fset.Position(c.Pos()).Offset; at > start && at < end {
			end = at
		}
	}
	return strings.TrimSpace(string(p.src[start:end]))
}

// contextType returns a file's name for context.Context, "" if the file does not import
// it.
func contextType(f *ast.File) string {
	for _, spec := range f.Imports {
		if path := strings.Trim(spec.Path.Value, `"`); path == "context" || path == "golang.org/x/net/context" {
			if spec.Name != nil {
				return spec.Name.Name + ".Context"
			}
			return "context.Context"
		}
	}
	return ""
}
