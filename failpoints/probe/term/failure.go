package term

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// Code is a class of errors that gRPC and containerd's errdefs both know.
type Code struct {
	Name   string // in google.golang.org/grpc/codes
	Number uint32 // in google.golang.org/grpc/codes
	Text   string // of errdefs' error, or of package context's
}

// codes are all of gRPC's codes but OK. The texts are from github.com/containerd/errdefs,
// v0.1.0 to v1.0.0, and from containerd's own package errdefs before it (1.5 to 1.7).
var codes = []Code{
	{"Canceled", 1, "context canceled"},
	{"Unknown", 2, "unknown"},
	{"InvalidArgument", 3, "invalid argument"},
	{"DeadlineExceeded", 4, "context deadline exceeded"},
	{"NotFound", 5, "not found"},
	{"AlreadyExists", 6, "already exists"},
	{"PermissionDenied", 7, "permission denied"},
	{"ResourceExhausted", 8, "resource exhausted"},
	{"FailedPrecondition", 9, "failed precondition"},
	{"Aborted", 10, "aborted"},
	{"OutOfRange", 11, "out of range"},
	{"Unimplemented", 12, "not implemented"},
	{"Internal", 13, "internal"},
	{"Unavailable", 14, "unavailable"},
	{"DataLoss", 15, "data loss"},
	{"Unauthenticated", 16, "unauthorized"},
}

var errnos = map[string]syscall.Errno{
	"EACCES": syscall.EACCES, "EAGAIN": syscall.EAGAIN, "EBUSY": syscall.EBUSY, "ECHILD": syscall.ECHILD,
	"ECONNREFUSED": syscall.ECONNREFUSED, "ECONNRESET": syscall.ECONNRESET, "EDQUOT": syscall.EDQUOT,
	"EEXIST": syscall.EEXIST, "EINTR": syscall.EINTR, "EINVAL": syscall.EINVAL, "EIO": syscall.EIO,
	"EMFILE": syscall.EMFILE, "ENFILE": syscall.ENFILE, "ENODEV": syscall.ENODEV, "ENOENT": syscall.ENOENT,
	"ENOMEM": syscall.ENOMEM, "ENOSPC": syscall.ENOSPC, "ENOTDIR": syscall.ENOTDIR,
	"ENOTEMPTY": syscall.ENOTEMPTY, "EPERM": syscall.EPERM, "EPIPE": syscall.EPIPE, "EROFS": syscall.EROFS,
	"ESRCH": syscall.ESRCH, "ETIMEDOUT": syscall.ETIMEDOUT,
}

// CodeNames returns the codes that an error clause takes, in the order of their numbers.
func CodeNames() []string {
	var names []string
	for _, c := range codes {
		names = append(names, c.Name)
	}
	return names
}

// ErrnoNames returns the errnos that an error clause takes, sorted.
func ErrnoNames() []string { return slices.Sorted(maps.Keys(errnos)) }

// Code returns the code that an error clause names.
func (c Clause) Code() (Code, bool) {
	for _, code := range codes {
		if code.Name == c.Arg {
			return code, true
		}
	}
	return Code{}, false
}

// Errno returns the errno that an error clause names.
func (c Clause) Errno() (syscall.Errno, bool) {
	errno, ok := errnos[c.Arg]
	return errno, ok
}

// errnoLike matches a word in the form of an errno, such as ENOSPC; EOF is none. nameLike
// matches a word in the form of a code or an errno.
var (
	errnoLike = regexp.MustCompile(`^E[A-Z0-9]{3,}$`)
	nameLike  = regexp.MustCompile(`^[A-Za-z0-9]*[A-Z][A-Za-z0-9]*$`)
)

// misspelt returns the expected form if an error's argument is probably a misspelt code
// or errno, and otherwise "". A word in the form of an errno always counts as misspelt.
// Another word with a capital counts only if it differs from a known name in a few
// letters; otherwise it is a text.
func misspelt(arg string) string {
	known := append(CodeNames(), ErrnoNames()...)
	if slices.Contains(known, arg) || !nameLike.MatchString(arg) {
		return ""
	}
	const orText = ", or a text that is not one word"
	nearest := Nearest(arg, known)
	few := nearest != "" && distance(strings.ToLower(arg), strings.ToLower(nearest)) <= len(arg)/3
	switch like := errnoLike.MatchString(arg); {
	case few, like && nearest != "":
		return nearest + orText
	case like:
		return "an errno (" + strings.Join(ErrnoNames(), ", ") + ")" + orText
	}
	return ""
}
