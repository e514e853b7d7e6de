// Package callerr answers: how did a client's call fail? It converts errors for
// histories, and makes the texts of errors comparable between runs.
package callerr

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/shimquake/shimquake/oracle/fact"
)

// Error is the error of one call of a client of containerd.
type Error struct {
	// Call is the name of the call in the API, such as StopPodSandbox.
	Call string
	Err  error
}

func (e *Error) Error() string { return e.Call + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Failed is an error in a history. It has the client's call, if the call is known, and
// the response.
type Failed struct {
	Call string `json:"call,omitempty"`
	Code string `json:"code"` // the name of a gRPC code, such as NotFound
	// Answered reports whether containerd itself sent this response.
	Answered bool `json:"answered,omitempty"`
	// Said is the message of the response, Text the whole text of the error.
	Said string `json:"said"`
	Text string `json:"text"`
}

// Of converts an error, or returns nil if there is none.
func Of(err error) *Failed {
	if err == nil {
		return nil
	}
	f := &Failed{Text: err.Error()}
	if was := (*Failed)(nil); errors.As(err, &was) {
		f.Call, f.Code, f.Answered, f.Said = was.Call, was.Code, was.Answered, was.Said
		return f
	}
	inner := err
	var call *Error
	for errors.As(inner, &call) { // the innermost one has the response
		f.Call, inner = call.Call, call.Err
	}
	f.Code, f.Said = Code(inner).String(), inner.Error()
	if s, ok := status.FromError(inner); ok {
		f.Answered, f.Said = true, s.Message()
	}
	return f
}

// Error returns the whole text of the error.
func (f *Failed) Error() string { return f.Text }

// Facts returns the facts of an operation that failed with this error.
func (f *Failed) Facts(what string) fact.Facts {
	said := f.Said
	if f.Code == codes.DeadlineExceeded.String() && strings.HasPrefix(said, "stream terminated by RST_STREAM") {
		said = context.DeadlineExceeded.Error() // gRPC has either text, as the client or the server ends the stream
	}
	return fact.Facts{fact.What: what, fact.Call: f.Call, fact.Code: f.Code, fact.Message: Comparable(said),
		fact.Error: f.Text}
}

// Code returns the gRPC code of an error of a client of containerd.
func Code(err error) codes.Code {
	if s, ok := status.FromError(err); ok {
		return s.Code()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	case errdefs.IsUnknown(err):
		return codes.Unknown
	}
	return status.Code(errgrpc.ToGRPC(err))
}

// variables are the parts of a text that differ between cases, with their placeholders.
var variables = []struct {
	pattern *regexp.Regexp
	as      string
}{
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "ID"}, // UUIDs
	{regexp.MustCompile(`\b[0-9a-f]{12,}\b`), "ID"},                         // CRI's ids and hashed sockets
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d(\.\d+)?`), "TIME"},
	{regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?(h|m|s|ms|us|µs|ns)\b`), "TIME"},
	{regexp.MustCompile(`/[^ "]*/worlds/[^/ "]+`), "WORLD"},
	{regexp.MustCompile(`\b[cb]\d+\b`), "ID"}, // ids of the task client
	{regexp.MustCompile(`\d+`), "N"},
}

// longestMessage is how many bytes of a message are compared. Some messages are long, and
// differ only at their ends.
const longestMessage = 240

// Comparable returns the first line of an error or of a log message. It replaces the
// parts that differ between cases: ids, times, numbers and the world's folder. Texts are
// compared because the code alone says too little: containerd uses Unknown for many
// errors.
func Comparable(text string) string {
	for _, v := range variables {
		text = v.pattern.ReplaceAllString(text, v.as)
	}
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > longestMessage {
		text = strings.ToValidUTF8(text[:longestMessage], "")
	}
	return text
}
