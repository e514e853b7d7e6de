package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"

	events "github.com/containerd/containerd/api/events"
	task "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/runtime-spec/specs-go"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/shimquake/shimquake/shims/fakeshim/process"
)

const killSignal = syscall.SIGKILL

// execution is a further process of a container.
type execution struct {
	what    specs.Process
	streams streams
	process *process.Process // nil until it is started
}

// Exec adds a further process; Start runs it.
func (s *Service) Exec(_ context.Context, r *task.ExecProcessRequest) (*emptypb.Empty, error) {
	c, err := s.container(r.ID)
	if err != nil {
		return nil, err
	}
	e := &execution{streams: streams{r.Stdin, r.Stdout, r.Stderr, r.Terminal}}
	if err := json.Unmarshal(r.Spec.GetValue(), &e.what); err != nil {
		return nil, fmt.Errorf("specification of exec %q: %w: %w", r.ExecID, err, errdefs.ErrInvalidArgument)
	}
	if _, err := c.spec.Mode(&e.what); err != nil {
		return nil, errors.Join(err, errdefs.ErrInvalidArgument)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.execs[r.ExecID] != nil {
		return nil, fmt.Errorf("exec %q of container %q: %w", r.ExecID, r.ID, errdefs.ErrAlreadyExists)
	}
	c.execs[r.ExecID] = e
	s.Publish(&events.TaskExecAdded{ContainerID: c.id, ExecID: r.ExecID})
	return empty, nil
}

func (s *Service) startExec(c *container, id string) (*task.StartResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.execs[id]
	status, _ := c.init.State()
	switch {
	case e == nil:
		return nil, fmt.Errorf("exec %q of container %q: %w", id, c.id, errdefs.ErrNotFound)
	case e.process != nil:
		return nil, fmt.Errorf("exec %q has been started: %w", id, errdefs.ErrFailedPrecondition)
	case c.over || status != process.Running:
		return nil, fmt.Errorf("container %q is not running: %w", c.id, errdefs.ErrFailedPrecondition)
	}
	p, err := c.create(&e.what, e.streams)
	if err != nil {
		return nil, err
	}
	e.process = p
	p.Watch(func(exit process.Exit) { s.publishExit(c, id, exit) })
	pid := uint32(p.PID())
	if err := p.Start(func() {
		s.Publish(&events.TaskExecStarted{ContainerID: c.id, ExecID: id,
			Pid: pid})
	}); err != nil {
		return nil, err
	}
	return &task.StartResponse{Pid: pid}, nil
}

func (s *Service) deleteExec(ctx context.Context, c *container, id string) (*task.DeleteResponse, error) {
	p, _, err := c.find(id)
	if err != nil {
		return nil, err
	}
	var exit process.Exit
	if p != nil {
		if exit, err = p.Remove(ctx); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	delete(c.execs, id)
	c.mu.Unlock()
	return deleteResponse(c.behaviour, exit)
}
