package probe

import (
	"context"
	"runtime"
	"strings"
	"unicode"
)

// What a context's end can mean at a statement (Hit.Ctx).
const (
	// ByCaller is the context of a request: its caller can cancel it, and its deadline can
	// pass.
	ByCaller = "caller"
	// ByTimeout is a context that containerd made for itself with a timeout, which can pass.
	ByTimeout = "timeout"
)

// Request is the context of a woven function. Its outermost call in a goroutine's life
// makes the context one that a fault can end for everybody who derives from it, as a
// client does that goes away. What was derived with context.WithoutCancel is not ended:
// that is what it is for.
func Request(ctx context.Context) context.Context {
	if statements.Load() == nil || ctx == nil || ctx.Done() == nil || ctx.Err() != nil {
		return ctx // of a request that has ended nothing is left to end
	}
	if rootOf(ctx).open() != "" {
		return ctx
	}
	e := newEndable(ctx)
	if e.kind = rootKind(2); e.kind == ByTimeout {
		if _, has := ctx.Deadline(); !has {
			return ctx // nobody would ever end it
		}
	}
	return e
}

// rootKind tells by its name whether the calling function serves requests: an exported
// method of the tasks or the CRI service.
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

// rootOf is the outermost context that a fault can end, or nil.
func rootOf(ctx context.Context) *endable {
	if ctx == nil {
		return nil
	}
	e, _ := ctx.Value(rootKey{}).(*endable)
	return e
}
