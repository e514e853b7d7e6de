package scan

import (
	"context"
	"fmt"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// MaxListed limits the objects that a containerd lists, and the entries of a directory. A
// node has a few hundred containers. maxListed limits the bytes of all lists.
const MaxListed, maxListed = 100_000, 64 << 20

// lists counts the messages and bytes that the calls with one context have received.
type lists struct{ messages, bytes atomic.Int64 }

type listsKey struct{}

// WithinLists limits what all calls with the context receive together, because a broken
// containerd may list objects without end. The connection needs BoundReply and
// BoundStream.
func WithinLists(ctx context.Context) context.Context {
	return context.WithValue(ctx, listsKey{}, &lists{})
}

// took counts a message.
func (l *lists) took(method string, message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return nil
	}
	if n := l.messages.Add(1); n > MaxListed {
		return fmt.Errorf("%s: containerd sends more than %d messages", method, MaxListed)
	}
	if n := l.bytes.Add(int64(proto.Size(m))); n > maxListed {
		return fmt.Errorf("%s: containerd lists more than %d MiB", method, maxListed>>20)
	}
	return nil
}

// BoundReply is a grpc.UnaryClientInterceptor, for WithinLists.
func BoundReply(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	err := call(ctx, method, req, reply, conn, opts...)
	if l, ok := ctx.Value(listsKey{}).(*lists); ok && err == nil {
		err = l.took(method, reply)
	}
	return err
}

// BoundStream is a grpc.StreamClientInterceptor, for WithinLists.
func BoundStream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, call grpc.Streamer,
	opts ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := call(ctx, desc, conn, method, opts...)
	if l, ok := ctx.Value(listsKey{}).(*lists); ok && err == nil {
		stream = &boundStream{stream, l, method}
	}
	return stream, err
}

type boundStream struct {
	grpc.ClientStream
	lists  *lists
	method string
}

func (s *boundStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil {
		err = s.lists.took(s.method, m)
	}
	return err
}
