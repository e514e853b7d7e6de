package probe

import (
	"context"
	"runtime"
	"strings"
	"unicode"
)

// The ways in which a fault can end a context at a statement (Hit.Ctx).
const (
	// ByCaller is the context of a request: its caller can cancel it, and its deadline can
	// pass.
	ByCaller = "caller"
	// ByTimeout is a context that containerd made for itself with a timeout, which can pass.
	ByTimeout = "timeout"
)

// Request returns the context of a woven function. The outermost call in a goroutine
// wraps the context. A fault can then end it and all derived contexts, as if the client
// had gone away. A context from context.WithoutCancel does not end: that is its purpose.
func Request(ctx context.Context) context.Context {
	if statements.Load() == nil || ctx == nil || ctx.Done() == nil || ctx.Err() != nil {
		return ctx // cannot end, or has ended
	}
	if rootOf(ctx).open() != "" {
		return ctx
	}
	e := newRootContext(ctx)
	if e.kind = rootKind(2); e.kind == ByTimeout {
		if _, has := ctx.Deadline(); !has {
			return ctx // it would never end
		}
	}
	return e
}

// rootKind returns ByCaller if the calling function serves requests: if it is an exported
// method of the tasks or the CRI service. Otherwise it returns ByTimeout.
func rootKind(skip int) string {
	pc, _, _, ok := runtime.Caller(skip)
	if !ok {
		return ByTimeout
	}
	name := runtime.FuncForPC(pc).Name()
	pkg, method := name[:strings.LastIndexByte(name, '/')+1], name[strings.LastIndexByte(name, '/')+1:]
	pkg += method[:strings.IndexByte(method, '.')+1]
	method = method[strings.LastIndexByte(method, '.')+1:]
	serves := strings.HasSuffix(pkg, "/tasks.") || strings.HasSuffix(pkg, "/cri/server.") || strings.HasSuffix(pkg,
		"/cri/sbserver.") ||
		strings.HasSuffix(pkg, "/runc/task.") ||
		strings.HasSuffix(pkg, "-runc-v2/task.")
	if serves && unicode.IsUpper([]rune(method)[0]) {
		return ByCaller
	}
	return ByTimeout
}

type rootKey struct{}

// rootOf returns the outermost context that a fault can end, or nil.
func rootOf(ctx context.Context) *rootContext {
	if ctx == nil {
		return nil
	}
	e, _ := ctx.Value(rootKey{}).(*rootContext)
	return e
}
