package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/namespaces"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
)

// initOf is an init process: the id of its container or sandbox, and its pid, or 0 if the
// client does not know the pid.
type initOf struct {
	id  string
	pid int
}

// Learn notes the init process of the first container ("task") or of the sandbox. A fault
// looks for it while the client works.
func (s *Session) Learn(who, id string, pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inits == nil {
		s.inits = map[string]initOf{}
	}
	s.inits[who] = initOf{id, pid}
}

func (s *Session) initOf(who string) initOf {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inits[who]
}

// KnownPID returns the pid of the init process if the client knows it, or 0. It does not
// ask containerd.
func (s *Session) KnownPID(who string) int { return s.initOf(who).pid }

// InitPID returns the pid of the init process. If the client does not know it, InitPID
// takes the only process of the cgroup, or asks containerd.
func (s *Session) InitPID(ctx context.Context, who string) (int, error) {
	i := s.initOf(who)
	switch {
	case i.pid != 0:
		return i.pid, nil
	case i.id == "":
		return 0, fmt.Errorf("the client knows no %s process", who)
	}
	if pids := s.PIDs(i.id); len(pids) == 1 { // no response has named the pid yet
		return pids[0], nil
	}
	cl, _, err := s.Up(ctx)
	if err != nil {
		return 0, err
	}
	return PIDOf(ctx, cl, i.id)
}

// askBound is the timeout for the state of a container, which takes some 5 ms on an
// idle machine. containerd's own timeout for the shim is 2 s
// (io.containerd.timeout.task.state). After that it reports UNKNOWN, or a timeout since
// v2.3.
const askBound = 5 * time.Second

// Ask asks for the state of the first container, while a process is held at a point. It
// is no call of the workload. It returns an error if there is no container yet.
func (s *Session) Ask(ctx context.Context, held string) error {
	asked := harness.AskedWhile{Of: s.initOf("task").id, Held: held, At: time.Now()}
	if asked.Of == "" {
		return errors.New("the client has created no container yet: ask at a later point")
	}
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	if s.Case.Workload.API == harness.CRI {
		ctx = namespaces.WithNamespace(ctx, daemon.CRINamespace)
	} else {
		ctx = namespaces.WithNamespace(ctx, daemon.TaskNamespace)
	}
	cl, _, err := s.Up(ctx)
	if err == nil {
		var r *tasks.GetResponse
		if r, err = cl.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: asked.Of}); err == nil {
			asked.As = r.GetProcess().GetStatus().String()
		}
	}
	asked.Took, asked.Err = time.Since(asked.At), callerr.Of(err)
	s.Record.Set(func(h *harness.History) { h.AskedWhile = append(h.AskedWhile, asked) })
	return nil
}

// PIDOf asks containerd's own API for the pid of a CRI container or sandbox, because CRI
// does not report it.
func PIDOf(ctx context.Context, cl *containerd.Client, id string) (int, error) {
	ctx = namespaces.WithNamespace(ctx, daemon.CRINamespace)
	made, err := cl.LoadContainer(ctx, id)
	if err != nil {
		return 0, err
	}
	task, err := made.Task(ctx, nil)
	if err != nil {
		return 0, err
	}
	return int(task.Pid()), nil
}
