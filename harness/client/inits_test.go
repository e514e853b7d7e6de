package client

import (
	"context"
	"errors"
	"sync"
	"testing"

	containerd "github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc"

	"github.com/shimquake/shimquake/must"
)

// A fault asks for a pid while the client works. Run this test with -race.
func TestInitPID(t *testing.T) {
	down := errors.New("containerd is down")
	var inCgroup []int
	pids := func(string) []int { return inCgroup }
	s := NewSession(Params{PIDs: pids, Connect: func(context.Context) (*containerd.Client, *grpc.ClientConn, error) {
		return nil, nil, down
	}})
	if pid, err := s.InitPID(t.Context(), "task"); err == nil || errors.Is(err, down) {
		t.Errorf("a client that knows no id asks for it: %d, %v", pid, err)
	}
	s.NoteInit("sandbox", "s0", 0)
	if pid, err := s.InitPID(t.Context(), "sandbox"); !errors.Is(err, down) || s.KnownPID("sandbox") != 0 {
		t.Errorf("a pid that only containerd knows: %d, %v", pid, err)
	}
	inCgroup = []int{7}
	must.Equal(t, must.Get(s.InitPID(t.Context(), "sandbox"))(t), 7, "a pid that is alone in its cgroup")
	inCgroup = []int{7, 8}
	must.Is(t, must.ErrorOf(s.InitPID(t.Context(), "sandbox")), down, "two pids in the cgroup")
	var work sync.WaitGroup
	work.Go(func() { s.NoteInit("task", "c0", 41) })
	work.Go(func() { s.KnownPID("task") })
	work.Wait()
	must.Equal(t, must.Get(s.InitPID(t.Context(), "task"))(t), 41, "a pid that the client knows")
}
