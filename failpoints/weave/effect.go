package weave

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// Effect says what a statement cannot do before the next statement begins. It is found in
// the text of the statement. The zero value is the effect of any statement.
type Effect struct {
	// Inside is set if the statement changes nothing outside of its process.
	Inside bool `json:"inside,omitempty"`
	// Reads is set if it changes nothing in its process's memory. A lock is a change.
	Reads bool `json:"reads,omitempty"`
	// Blind is set if it does not look at its request's context.
	Blind bool `json:"blind,omitempty"`
}

// The effects of calls.
var (
	computes = Effect{Inside: true, Reads: true, Blind: true}
	reads    = Effect{Inside: true, Reads: true} // it reads files, or asks another part of containerd
	inMemory = Effect{Inside: true}
	anything = Effect{}
)

func (e Effect) and(o Effect) Effect {
	return Effect{e.Inside && o.Inside, e.Reads && o.Reads, e.Blind && o.Blind}
}

// calls has the effects of calls. "os.Stat" is a function of another package, by the name
// that containerd's files give the package. "errors.*" are all functions of a package.
// ".Lock" is a method of any type. A line in the log does not count as an effect.
var calls = byName(map[Effect]string{
	computes: `
		bytes.* cgroups.Mode codes.* context.* ctrdutil.NamespacedContext errdefs.* errgroup.WithContext
		errgrpc.* errors.* exec.Command exec.CommandContext filepath.Base filepath.Clean filepath.Dir
		filepath.Ext filepath.IsAbs filepath.Join fmt.Errorf fmt.Sprint fmt.Sprintf hex.* identifiers.*
		json.Marshal json.Unmarshal log.* maps.* namespaces.* os.Environ os.Getenv os.Geteuid os.Getpid
		os.Getppid os.IsExist os.IsNotExist path.* platforms.* proto.Marshal proto.Unmarshal protobuf.* sha256.*
		slices.* span.* status.* strconv.* strings.* time.Duration time.Now time.Since timeout.WithContext
		tracing.* typeurl.* util.GenerateID .Err .Error .ExitedAt .ID .Load .Name .Namespace .Pid .String`,
	reads: `
		exec.LookPath filepath.* mount.CanonicalizePath mountinfo.* os.Executable os.Getwd os.Lstat os.ReadDir
		os.ReadFile os.Readlink os.Stat .Info .List`,
	inMemory: `
		atomic.* close cwg.Add cwg.Done debug.SetGCPercent delete flag.* goruntime.* shims.Add shims.Delete
		sort.* wg.Add wg.Done .AddEvent .LoadOrStore .Lock .RLock .RUnlock .SetAttributes .Store .Unlock
		.UpdateSince`,
})

// byName returns the effect of each name in the texts.
func byName(names map[Effect]string) map[string]Effect {
	all := map[string]Effect{}
	for effect, words := range names {
		for name := range strings.FieldsSeq(words) {
			all[name] = effect
		}
	}
	return all
}

// callsBy has the effects of other calls, by the beginnings of their names.
var callsBy = map[string]Effect{
	".Get": reads, ".Has": reads, ".Is": reads, ".With": inMemory, "cancel": inMemory,
}

// effectByName returns the effect of a call by its name alone.
func effectByName(name string) (Effect, bool) {
	if effect, ok := calls[name]; ok {
		return effect, true
	}
	for prefix, effect := range callsBy {
		if strings.HasPrefix(name, prefix) {
			return effect, true
		}
	}
	return anything, false
}

// effects finds the effects of a package's statements.
type effects struct {
	// functions has the effects of the package's functions, and of its methods (".Name").
	functions map[string]Effect
	// woven has the functions and lower-case methods whose statements are woven.
	woven map[string]bool
	// channels has the names of channels, because a range over a channel waits.
	channels map[string]bool
	// packages has the names of imported packages.
	packages map[string]bool
}

// effectsOf finds the effects of a package's functions. A function has the effects of all
// its statements. Functions may call each other, so effectsOf repeats until nothing
// changes.
func effectsOf(files []*File, woven map[*File][]*ast.FuncDecl) effects {
	x := effects{map[string]Effect{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, funcs := range woven {
		for _, fn := range funcs {
			if fn.Body != nil && len(fn.Body.List) > 0 && (fn.Recv == nil || !fn.Name.IsExported()) {
				x.woven[funcKey(fn)] = true
			}
		}
	}
	var all []*ast.FuncDecl
	for _, f := range files {
		x.findChannels(f.AST)
		for _, spec := range f.AST.Imports {
			x.packages[importName(spec)] = true
		}
		for _, decl := range f.AST.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				all = append(all, fn)
				x.functions[funcKey(fn)] = computes
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, fn := range all {
			key := funcKey(fn)
			effect := x.functions[key].and(x.inside(fn.Body))
			changed = changed || effect != x.functions[key]
			x.functions[key] = effect
		}
	}
	return x
}

func funcKey(fn *ast.FuncDecl) string {
	if fn.Recv != nil {
		return "." + fn.Name.Name
	}
	return fn.Name.Name
}

// inside returns the effect of everything in a node, with its blocks and function
// literals.
func (x effects) inside(n ast.Node) Effect { return x.effect(n, true) }

// of returns the effect of a statement alone, because the blocks and function literals in
// it have statements of their own. returns is the effect of a return from its function.
func (x effects) of(stmt ast.Stmt, returns Effect) Effect {
	effect := x.effect(stmt, false)
	if _, ok := stmt.(*ast.ReturnStmt); ok {
		effect = effect.and(returns)
	}
	return effect
}

func (x effects) effect(root ast.Node, whole bool) Effect {
	effect := computes
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.FuncLit:
			return whole
		case *ast.DeferStmt: // without whole, only its arguments are computed
			if !whole {
				for _, arg := range n.Call.Args {
					effect = effect.and(x.effect(arg, false))
				}
				return false
			}
		case *ast.CallExpr:
			if !whole && x.callsWoven(n) {
				effect = effect.and(Effect{Inside: true, Blind: true})
			} else {
				effect = effect.and(x.ofCall(n))
			}
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				effect = anything
			}
		case *ast.RangeStmt:
			if x.channels[nameOf(n.X)] {
				effect = anything
			}
		case *ast.SendStmt, *ast.SelectStmt, *ast.GoStmt:
			effect = anything
		}
		return true
	})
	return effect
}

// importName returns the name of an imported package in its file, as far as its path
// shows.
func importName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	return path.Base(strings.Trim(spec.Path.Value, `"`))
}

// callsWoven reports whether a call is of a woven function of the package. The next
// statement to begin is then the first one of this function. A method with a lower-case
// name belongs to the package.
func (x effects) callsWoven(call *ast.CallExpr) bool {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return x.woven[fun.Name]
	case *ast.SelectorExpr:
		return x.woven["."+fun.Sel.Name]
	}
	return false
}

// ofCall returns the effect of a call without that of its arguments.
func (x effects) ofCall(call *ast.CallExpr) Effect {
	if method, ok := call.Fun.(*ast.SelectorExpr); ok && isContext(method.X) && !x.packages[nameOf(method.X)] {
		return reads // ctx.Err(), and not context.WithCancel
	}
	effect := x.ofFunction(call.Fun)
	if effect == anything && !x.isFunction(call.Fun) { // a variable or a value may hold a context, as an exec.Cmd does
		return anything
	}
	effect.Blind = effect.Blind || !slices.ContainsFunc(call.Args, isContext)
	return effect
}

// isFunction reports whether fun is a function of this package or of another one.
func (x effects) isFunction(fun ast.Expr) bool {
	switch fun := fun.(type) {
	case *ast.Ident:
		_, ours := x.functions[fun.Name]
		return ours
	case *ast.SelectorExpr:
		return x.packages[nameOf(fun.X)]
	}
	return false
}

func (x effects) ofFunction(fun ast.Expr) Effect {
	switch fun := fun.(type) {
	case *ast.ArrayType, *ast.MapType, *ast.InterfaceType: // a conversion
		return computes
	case *ast.FuncLit: // its statements have effects of their own
		return computes
	case *ast.Ident:
		if effect, ok := effectByName(fun.Name); ok {
			return effect
		}
		if builtins[fun.Name] && fun.Name != "recover" {
			return computes
		}
		return x.functions[fun.Name]
	case *ast.SelectorExpr:
		return x.ofSelector(fun)
	}
	return anything
}

// isContext tells a context by its name: ctx, shimCtx, i.ctx.
func isContext(e ast.Expr) bool {
	name := strings.ToLower(nameOf(e))
	return strings.Contains(name, "ctx") || strings.Contains(name, "context")
}

// ofSelector returns the effect of a call of a package's function or of a method.
func (x effects) ofSelector(fun *ast.SelectorExpr) Effect {
	base, method := nameOf(fun.X), "."+fun.Sel.Name
	if effect, ok := calls[base+method]; ok {
		return effect
	}
	switch of := fun.X.(type) {
	case *ast.Ident:
		if effect, ok := calls[base+".*"]; ok {
			return effect
		}
		if effect, ok := x.functions[method]; ok {
			return effect
		}
	case *ast.CallExpr: // a method of a result: log.G(ctx).Debug
		if inner, ok := of.Fun.(*ast.SelectorExpr); ok {
			if effect, ok := calls[packageOf(inner)+".*"]; ok {
				return effect
			}
		}
	}
	effect, _ := effectByName(method)
	return effect
}

// nameOf returns the name of a variable, of a field or of a package.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// packageOf returns the name at the start of a chain of selectors and calls: log of
// log.G(ctx).WithError.
func packageOf(fun *ast.SelectorExpr) string {
	if call, ok := fun.X.(*ast.CallExpr); ok {
		if inner, ok := call.Fun.(*ast.SelectorExpr); ok {
			return packageOf(inner)
		}
	}
	if id, ok := fun.X.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// findChannels notes the names of channels that a file declares or makes.
func (x effects) findChannels(f *ast.File) {
	note := func(name, of ast.Expr) {
		if _, ok := of.(*ast.ChanType); ok {
			x.channels[nameOf(name)] = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				note(name, n.Type)
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				note(name, n.Type)
			}
		case *ast.AssignStmt:
			for i, value := range n.Rhs {
				if call, ok := value.(*ast.CallExpr); ok && len(call.Args) > 0 { // make(chan T)
					note(n.Lhs[i], call.Args[0])
				}
			}
		}
		return true
	})
}

// returns returns the effect of a return from a function. An exported function and a
// function literal may return to code that responds to a client, so their return may do
// anything. Another function's return runs the calls that it defers. A deferred function
// literal has statements of its own.
func (x effects) returns(body *ast.BlockStmt, ours bool) Effect {
	if !ours {
		return anything
	}
	effect := computes
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.DeferStmt:
			effect = effect.and(x.ofCall(n.Call))
			return false
		}
		return true
	})
	return effect
}
