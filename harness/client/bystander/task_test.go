package bystander

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	containerd "github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc"

	"github.com/shimquake/shimquake/foreign"
)

// The output of a task with a failed start is closed at its removal, also if the
// removal is tried several times.
func TestTheOutputOfATaskThatDidNotStartIsClosed(t *testing.T) {
	b := &one{name: "b", Params: Params{
		Connect: func(context.Context) (*containerd.Client, *grpc.ClientConn, error) {
			return nil, nil, errors.New("down")
		},
	}}
	k, dir := &task{one: b}, t.TempDir()
	b.kind = k
	fifoDir, err := foreign.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fifoDir.Close() }) // nothing is written by it
	if _, err := k.read.Create(fifoDir)("b"); err != nil {
		t.Fatal(err)
	}
	fifos, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(fifos) == 0 {
		t.Fatal(fifos, err)
	}
	for _, f := range fifos { // as a shim that opens the FIFO and exits
		end, err := os.OpenFile(f, os.O_WRONLY, 0)
		if err == nil {
			err = end.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := k.discard(t.Context()); err == nil {
			t.Error("removed from a containerd that is down")
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("its FIFOs are left: %v, %v", left, err)
	}
}
