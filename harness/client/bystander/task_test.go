package bystander

import (
	"context"
	"errors"
	"testing"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/cio"
	"google.golang.org/grpc"
)

// output counts how often it was closed.
type output struct {
	cio.IO
	closed int
}

func (o *output) Wait()        {}
func (o *output) Close() error { o.closed++; return nil }

// The output of a task that was created, and whose start has failed, is closed when it is
// removed, however often that is tried.
func TestTheOutputOfATaskThatDidNotStartIsClosed(t *testing.T) {
	b := &one{name: "b", Params: Params{
		Up: func(context.Context) (*containerd.Client, *grpc.ClientConn, error) {
			return nil, nil, errors.New("down")
		},
	}}
	o := &output{}
	k := &task{one: b, io: o}
	b.kind = k
	for range 2 {
		if err := k.discard(t.Context()); err == nil {
			t.Error("removed from a containerd that is down")
		}
	}
	if o.closed != 1 {
		t.Errorf("closed %d times", o.closed)
	}
}
