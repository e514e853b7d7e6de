package probe

import (
	"errors"
	"os"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// Fn wraps the function f that a statement calls, if the last result of the call is the
// statement's error. weave turns f(args) into Fn(n, f)(args). Fn returns f itself unless
// the statement is armed.
func Fn[F any](n int, f F) F {
	t := statements.Load()
	if t == nil || t.mode(n) <= met {
		return f
	}
	wrapped, ok := t.wrap(n, reflect.ValueOf(f)).(F)
	if !ok {
		return f
	}
	return wrapped
}

var errorType = reflect.TypeFor[error]()

// wrap returns a function like f that reports its call, and fails on demand. With error,
// f is not called. With loseResult, f is called and its results are lost.
func (t *statementTable) wrap(n int, f reflect.Value) any {
	if f.Kind() != reflect.Func || f.IsNil() || f.Type().NumOut() == 0 || f.Type().Out(f.Type().NumOut()-1) != errorType {
		return nil
	}
	return reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
		call := f.Call
		if f.Type().IsVariadic() {
			call = f.CallSlice
		}
		h := Hit{Point: t.names[n], At: time.Now().UnixNano(), Call: true, Callee: callee(f)}
		if t.mode(n) == reported {
			t.decider.seen(h)
			return call(args)
		}
		a := t.decider.ask(h)
		switch term.Action(a.Do) {
		case term.Lose:
			call(args)
			return failure(f.Type(), errors.New("the call's result was lost (shimquake)"))
		case term.Error:
			err := injected(term.Clause{Arg: a.Arg}, returnsMessage(f.Type()))
			return failure(f.Type(), asOS(f, args, err))
		}
		return call(args)
	}).Interface()
}

// callee returns a function's name with its package's path. It removes the suffix that
// the compiler adds to the value of a method.
func callee(f reflect.Value) string {
	fn := runtime.FuncForPC(f.Pointer())
	if fn == nil {
		return ""
	}
	return strings.TrimSuffix(fn.Name(), "-fm")
}

// message is a protobuf message of any generator: gogo's, and both of Go's own.
var message = reflect.TypeFor[interface{ ProtoMessage() }]()

// returnsMessage reports whether a function returns a message besides its error. Such
// functions are methods of ttrpc's and gRPC's clients, and handlers: their errors are
// statuses.
func returnsMessage(f reflect.Type) bool {
	return f.NumOut() == 2 && f.Out(0).Implements(message)
}

// asOS wraps an errno as package os would, if the function is of package os. containerd
// checks for that type, too: ensureRemoveAll in cri/server/helpers_linux.go.
func asOS(f reflect.Value, args []reflect.Value, err error) error {
	errno, ok := err.(syscall.Errno) //nolint:errorlint // injected returns it bare
	if !ok || len(args) == 0 || args[0].Kind() != reflect.String {
		return err
	}
	switch op, ok := strings.CutPrefix(callee(f), "os."); {
	case !ok:
		return err
	case op == "Rename", op == "Link", op == "Symlink":
		op = strings.ToLower(op)
		return &os.LinkError{Op: op, Old: args[0].String(), New: args[1].String(), Err: errno}
	default:
		return &os.PathError{Op: strings.ToLower(op), Path: args[0].String(), Err: errno}
	}
}

// failure returns results of a function that are all zero except for the error.
func failure(f reflect.Type, err error) []reflect.Value {
	out := make([]reflect.Value, f.NumOut())
	for i := range out {
		out[i] = reflect.Zero(f.Out(i))
	}
	out[len(out)-1] = reflect.New(errorType).Elem()
	out[len(out)-1].Set(reflect.ValueOf(err))
	return out
}
