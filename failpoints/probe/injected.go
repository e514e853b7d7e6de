package probe

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// Status makes the error of grpc/status from a code's number and a text. The woven ttrpc
// sets it in an init (failpoints/weave/ttrpc_probe.go.txt): this package may not import
// grpc.
var Status func(code uint32, text string) error

// injected returns the error of an error clause, in the form in which callers would get
// the real one:
//
//   - DeadlineExceeded and Canceled: the errors of package context. ttrpc's client
//     returns these errors, and its server makes statuses of them (convertCode in
//     services.go, v1.1.0 to v1.2.10). containerd compares with ==
//     (cri/server/podsandbox/sandbox_stop.go).
//   - Any other code: a status if callers expect one (asStatus), for errdefs' FromGRPC
//     and errgrpc's ToNative. It crosses ttrpc with its code (unaryCall in services.go).
//     For other callers: an error like the errors of errdefs.
//   - An errno: the errno itself, because containerd compares with == (unix.EBUSY in
//     mount.unmount). asOS wraps it where package os would.
//   - Anything else: an error with that text.
func injected(c term.Clause, asStatus bool) error {
	if errno, ok := c.Errno(); ok {
		return errno
	}
	code, ok := c.Code()
	if !ok {
		return errors.New(c.Text())
	}
	for _, end := range []error{context.DeadlineExceeded, context.Canceled} {
		if code.Text == end.Error() {
			return end
		}
	}
	err := &classError{code.Text}
	if asStatus && Status != nil {
		return Status(code.Number, err.Error())
	}
	return err
}

// classError is an error of a class of containerd's errdefs, which this package may not
// import. How errdefs recognizes a class:
//
//   - containerd's own package (1.5.18, 1.7.4), and the module errdefs v0.1.0 (1.6.36):
//     errors.Is(err, ErrNotFound), a variable that errors.New made.
//   - errdefs v0.3.0 (1.7.35) to v1.0.0 (2.x): the same with a value of its own type, or
//     a method NotFound(). Resolve, for ToGRPC, tries the methods, then Unwrap, then Is.
//
// So a method Is serves all versions. A method Unwrap would hide Is from Resolve.
// containerd never compares these errors with ==.
type classError struct{ text string }

// Error ends with the class's text, as real errors do: FromGRPC and ToNative cut this
// text off, and put it back.
func (e *classError) Error() string { return term.Clause{}.Text() + ": " + e.text }

// Is recognizes errdefs' errors by their texts. Errors of the standard library with the
// same texts (permission denied, invalid argument) are different.
func (e *classError) Is(target error) bool {
	_, errno := target.(syscall.Errno)
	return !errno && target != fs.ErrInvalid && target != fs.ErrPermission && target.Error() == e.text
}
