package scan

import (
	"context"
	"fmt"
	"sync/atomic"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// MaxListed limits the objects that a containerd lists, and the entries of a directory. A
// node has a few hundred containers. maxListed limits the bytes of all lists: a container
// has a specification of some 20 KiB.
const MaxListed, maxListed = 100_000, 64 << 20

type listsKey struct{}

// WithinLists limits what all calls with the context receive together, because a broken
// containerd may list objects without end. The connection needs BoundReply and
// BoundStream.
func WithinLists(ctx context.Context) context.Context {
	return context.WithValue(ctx, listsKey{}, new([2]atomic.Int64))
}

// took counts a message that was received.
func took(ctx context.Context, method string, message any) error {
	counts, is := ctx.Value(listsKey{}).(*[2]atomic.Int64)
	if !is {
		return nil
	}
	// The client of containerd would panic.
	if c, is := message.(*containersapi.ListContainerMessage); is && c.Container == nil {
		return fmt.Errorf("%s: a container without a record", method)
	}
	m, _ := message.(proto.Message)
	if counts[0].Add(1) > MaxListed || counts[1].Add(int64(proto.Size(m))) > maxListed {
		return fmt.Errorf("%s: containerd lists more than %d objects, or %d MiB", method, MaxListed, maxListed>>20)
	}
	return nil
}

// BoundReply is a grpc.UnaryClientInterceptor, for WithinLists.
func BoundReply(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	if err := call(ctx, method, req, reply, conn, opts...); err != nil {
		return err
	}
	return took(ctx, method, reply)
}

// BoundStream is a grpc.StreamClientInterceptor, for WithinLists.
func BoundStream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, call grpc.Streamer,
	opts ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := call(ctx, desc, conn, method, opts...)
	return &boundStream{stream, method}, err
}

type boundStream struct {
	grpc.ClientStream
	method string
}

func (s *boundStream) RecvMsg(m any) error {
	if err := s.ClientStream.RecvMsg(m); err != nil {
		return err
	}
	return took(s.Context(), s.method, m)
}
