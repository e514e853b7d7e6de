package probe

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/must"
)

// classes are errdefs' predicates. Each has the variable that errdefs before v0.3.0
// compares with, if there is one.
var classes = map[string]struct {
	is     func(error) bool
	before error
}{
	"Canceled":           {errdefs.IsCanceled, context.Canceled},
	"Unknown":            {errdefs.IsUnknown, errors.New("unknown")},
	"InvalidArgument":    {errdefs.IsInvalidArgument, errors.New("invalid argument")},
	"DeadlineExceeded":   {errdefs.IsDeadlineExceeded, context.DeadlineExceeded},
	"NotFound":           {errdefs.IsNotFound, errors.New("not found")},
	"AlreadyExists":      {errdefs.IsAlreadyExists, errors.New("already exists")},
	"PermissionDenied":   {errdefs.IsPermissionDenied, nil},
	"ResourceExhausted":  {errdefs.IsResourceExhausted, nil},
	"FailedPrecondition": {errdefs.IsFailedPrecondition, errors.New("failed precondition")},
	"Aborted":            {errdefs.IsAborted, nil},
	"OutOfRange":         {errdefs.IsOutOfRange, nil},
	"Unimplemented":      {errdefs.IsNotImplemented, errors.New("not implemented")},
	"Internal":           {errdefs.IsInternal, nil},
	"Unavailable":        {errdefs.IsUnavailable, errors.New("unavailable")},
	"DataLoss":           {errdefs.IsDataLoss, nil},
	"Unauthenticated":    {errdefs.IsUnauthorized, nil},
}

// is returns the names of the classes that errdefs recognizes in an error.
func is(err error) []string {
	var names []string
	for name, c := range classes {
		if c.is(err) || c.before != nil && errors.Is(err, c.before) {
			names = append(names, name)
		}
	}
	return names
}

// number returns a code's number in grpc itself.
func number(t *testing.T, name string) codes.Code {
	t.Helper()
	for c := codes.Code(1); c <= 16; c++ {
		if c.String() == name {
			return c
		}
	}
	t.Fatalf("grpc has no code %s", name)
	return 0
}

// withStatus makes statuses as the woven ttrpc does.
func withStatus(t *testing.T) {
	t.Helper()
	Status = func(code uint32, text string) error { return status.Error(codes.Code(code), text) }
	t.Cleanup(func() { Status = nil })
}

// crossed returns what ttrpc's client makes of a handler's error. The server turns the
// error into a status and sends it (unaryCall and convertCode in ttrpc's services.go).
func crossed(err error) error {
	st, ok := status.FromError(err)
	switch {
	case ok:
	case err == context.DeadlineExceeded: //nolint:errorlint // as convertCode in ttrpc's services.go
		st = status.New(codes.DeadlineExceeded, err.Error())
	case err == context.Canceled: //nolint:errorlint // the same
		st = status.New(codes.Canceled, err.Error())
	case os.IsNotExist(err):
		st = status.New(codes.NotFound, err.Error())
	default:
		st = status.New(codes.Unknown, err.Error())
	}
	return status.ErrorProto(st.Proto())
}

func TestCodes(t *testing.T) {
	withStatus(t)
	must.Equal(t, len(classes), len(term.CodeNames()), "classes that the test knows")
	for _, name := range term.CodeNames() {
		t.Run(name, func(t *testing.T) {
			want := []string{name}
			decide(t, &script{answers: map[string]Decision{atEntry: {Do: "error", Arg: name}}})
			handler, caller := serve(t.Context()).err, call1(t.Context()).err
			must.Equal(t, status.Code(crossed(handler)), number(t, name), "the handler's error crosses ttrpc as")
			must.Equal(t, is(errgrpc.ToNative(crossed(handler))), want, "the handler's error is")
			ended := name == "DeadlineExceeded" || name == "Canceled" // ttrpc's client returns these bare
			if !ended {
				caller = errgrpc.ToNative(caller)
			}
			must.Equal(t, is(caller), want, "the caller's error is")
			local := injected(term.Clause{Arg: name}, false)
			must.Equal(t, is(local), want, "the statement's error is")
			must.Equal(t, status.Code(errgrpc.ToGRPC(local)), number(t, name), "a handler makes of the statement's error")
			for _, other := range []error{
				fs.ErrInvalid, fs.ErrPermission, fs.ErrExist, fs.ErrNotExist, syscall.EINVAL, syscall.EACCES,
			} {
				if errors.Is(local, other) {
					t.Errorf("it is %q, too", other)
				}
			}
		})
	}
}

func TestErrnos(t *testing.T) {
	withStatus(t)
	for _, name := range term.ErrnoNames() {
		want, _ := term.Clause{Arg: name}.Errno()
		must.Equal(t, unix.ErrnoName(want), name, "the kernel's name")
		s := &script{answers: map[string]Decision{atEntry: {Do: "error", Arg: name}, names[0]: {Do: "error", Arg: name}}}
		weave(t, s, false)
		kernel := func() error { return nil }
		for where, err := range map[string]error{
			"handler": serve(t.Context()).err, "caller": call1(t.Context()).err, "call": Fn(0, kernel)(),
		} {
			if err != error(want) { //nolint:errorlint // containerd compares so
				t.Errorf("%s in a %s: %v, want %v itself", name, where, err, want)
			}
			if os.IsNotExist(err) != (name == "ENOENT") || os.IsExist(err) != (name == "EEXIST" || name == "ENOTEMPTY") {
				t.Errorf("%s in a %s: os tells another error", name, where)
			}
		}
		var path *os.PathError
		err := Fn(0, os.RemoveAll)("/x")
		if !errors.As(err, &path) || !errors.Is(path.Err, want) || err.Error() != "removeall /x: "+want.Error() {
			t.Errorf("%s in os.RemoveAll: %v", name, err)
		}
		var link *os.LinkError
		err = Fn(0, os.Rename)("/x", "/y")
		if !errors.As(err, &link) || !errors.Is(link.Err, want) || err.Error() != "rename /x /y: "+want.Error() {
			t.Errorf("%s in os.Rename: %v", name, err)
		}
	}
}

// message1 is a protobuf message, as far as this package checks.
type message1 struct{}

func (*message1) ProtoMessage() {}

// A call of a client, or of a handler, fails with a status; all other calls fail with
// their own kind of error.
func TestCallsThatReturnMessages(t *testing.T) {
	withStatus(t)
	weave(t, &script{answers: map[string]Decision{names[0]: {Do: "error", Arg: "NotFound"}}}, false)
	_, err := Fn(0, func(context.Context) (*message1, error) { return &message1{}, nil })(t.Context())
	if status.Code(err) != codes.NotFound || errdefs.IsNotFound(err) {
		t.Errorf("of a client: %v", err)
	}
	_, err = Fn(0, func() (*request, error) { return &request{}, nil })()
	if _, ok := status.FromError(err); ok || !errdefs.IsNotFound(err) {
		t.Errorf("of another function: %v", err)
	}
}

// Any other argument is a bare text.
func TestBareText(t *testing.T) {
	withStatus(t)
	for arg, want := range map[string]string{
		"": "injected by shimquake", "boo": "boo", "not found": "not found", "enospc": "enospc",
	} {
		for _, asStatus := range []bool{false, true} {
			err := injected(term.Clause{Arg: arg}, asStatus)
			if _, ok := status.FromError(err); ok || err.Error() != want || len(is(err)) > 0 {
				t.Errorf("error(%s): %q is %q", arg, err, is(err))
			}
		}
	}
	if err := injected(term.Clause{Arg: "NotFound"}, false); !strings.HasSuffix(err.Error(), ": not found") {
		t.Errorf("%q does not end as errdefs' errors do", err)
	}
}
