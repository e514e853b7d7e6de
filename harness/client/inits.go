package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/pkg/namespaces"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
)

// initOf is an init process: the id of its container or sandbox, and its pid, or 0 if the
// client does not know the pid.
type initOf struct {
	id  string
	pid int
}

// NoteInit notes the init process of the first container ("task") or of the sandbox
// ("sandbox"). A fault may target this process while the client runs.
func (s *Session) NoteInit(role, id string, pid int) {
	s.mu.Lock()
	if s.inits == nil {
		s.inits = map[string]initOf{}
	}
	s.inits[role] = initOf{id, pid}
	s.mu.Unlock()
	if s.OnNewID != nil {
		s.OnNewID()
	}
}

// ID returns the id of the container or sandbox of an init process, or "" if it is
// unknown.
func (s *Session) ID(role string) string { return s.initOf(role).id }

func (s *Session) initOf(role string) initOf {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inits[role]
}

// KnownPID returns the pid of the init process, or 0 if no response has named it yet. It
// makes no call.
func (s *Session) KnownPID(role string) int { return s.initOf(role).pid }

// InitPID returns the pid of the init process. If no response has named it yet, InitPID
// takes the pid of the only process in the cgroup, or asks containerd.
func (s *Session) InitPID(ctx context.Context, role string) (int, error) {
	i := s.initOf(role)
	switch {
	case i.pid != 0:
		return i.pid, nil
	case i.id == "":
		return 0, fmt.Errorf("the client has created no %s yet, so there is no init process", role)
	}
	if pids := s.PIDs(i.id); len(pids) == 1 { // no response has named the pid yet
		return pids[0], nil
	}
	return s.PIDOf(ctx, i.id)
}

// askTimeout is the timeout of Ask's call, which takes some 5 ms on an idle machine.
// containerd itself waits 2 s for the shim (io.containerd.timeout.task.state). After that
// it responds with the state UNKNOWN, or since v2.3 with a timeout.
const askTimeout = 5 * time.Second

// AskWhilePaused requests the state of the first container while a fault pauses a
// process at the point pausedAt. It records the result apart from the calls of the
// workload. It returns an error if there is no container yet.
func (s *Session) AskWhilePaused(ctx context.Context, pausedAt string) error {
	asked := harness.AskedWhile{Of: s.initOf("task").id, PausedAt: pausedAt, At: time.Now()}
	if asked.Of == "" {
		return errors.New("the client has created no container yet: pause at a later point")
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	ctx = namespaces.WithNamespace(ctx, s.Namespace)
	cl, _, err := s.Connect(ctx)
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

// PIDOf asks containerd's own API for the pid of a container or sandbox, because CRI does
// not report it.
func (s *Session) PIDOf(ctx context.Context, id string) (int, error) {
	cl, _, err := s.Connect(ctx)
	if err != nil {
		return 0, err
	}
	ctx = namespaces.WithNamespace(ctx, s.Namespace)
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
