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

// initOf is what the client knows of an init process: the id of its container or sandbox,
// and its pid; 0 where it knows none.
type initOf struct {
	id  string
	pid int
}

// Learn notes what the client knows of the init process of the first container ("task")
// or of the sandbox: a fault looks for it while the client works.
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

// KnownPID is that process where the client knows it without asking containerd, or 0.
func (s *Session) KnownPID(who string) int { return s.initOf(who).pid }

// InitPID is that process. Where the client does not know it, it is the one that is in
// its cgroup, or else containerd is asked.
func (s *Session) InitPID(ctx context.Context, who string) (int, error) {
	i := s.initOf(who)
	switch {
	case i.pid != 0:
		return i.pid, nil
	case i.id == "":
		return 0, fmt.Errorf("the client knows of no %s process", who)
	}
	if pids := s.PIDs(i.id); len(pids) == 1 { // nobody has answered for it yet
		return pids[0], nil
	}
	cl, _, err := s.Up(ctx)
	if err != nil {
		return 0, err
	}
	return PIDOf(ctx, cl, i.id)
}

// askBound is how long the state of a container may take: on an idle machine, some 5 ms.
// containerd gives a shim 2 s (io.containerd.timeout.task.state), and says then that the
// state is UNKNOWN, or, since v2.3, that the time is over.
const askBound = 5 * time.Second

// Ask asks for the state of the first container, while a process is held at a point. It
// is no call of the workload. The error is that there is none to ask for yet.
func (s *Session) Ask(ctx context.Context, held string) error {
	asked := harness.AskedWhile{Of: s.initOf("task").id, Held: held, At: time.Now()}
	if asked.Of == "" {
		return errors.New("the client has made no container yet: ask at a point that comes later")
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

// PIDOf asks containerd for the pid of a container or a sandbox of CRI, which does not
// tell it.
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
