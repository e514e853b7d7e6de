// Package service is a fake shim's server of containerd's task API, over ttrpc, for
// containerd 1.6 to 2.4.
package service

import (
	"context"
	"fmt"
	"os"
	"sync"

	events "github.com/containerd/containerd/api/events"
	task "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/ttrpc"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/shimquake/shimquake/shims/fakeshim/behaviour"
	"github.com/shimquake/shimquake/shims/fakeshim/proof"
)

// Names are the services under which the task API is served. Their messages are the same
// on the wire.
var Names = []string{"containerd.task.v2.Task", "containerd.task.v3.Task"}

// Params are the dependencies of a Service.
type Params struct {
	Behaviour behaviour.Behaviour // Behaviour of the shim itself; a task's reports follow its own bundle.
	Publish   func(event any)     // Publish queues an event of containerd's api/events.
	Stop      func()              // Stop ends the shim once the reply to Shutdown is sent.
	Log       func(format string, args ...any)
}

// Service serves the tasks of one shim.
type Service struct {
	Params
	mu         sync.Mutex
	containers map[string]*container
}

// New returns a service without tasks.
func New(p Params) *Service {
	return &Service{Params: p, containers: map[string]*container{}}
}

// Register adds the task API to a server, under each of Names.
func (s *Service) Register(server *ttrpc.Server) {
	methods := map[string]ttrpc.Method{
		"State":      method(s.State),
		"Create":     method(s.Create),
		"Start":      method(s.Start),
		"Delete":     method(s.Delete),
		"Pids":       method(s.Pids),
		"Pause":      method(s.Pause),
		"Resume":     method(s.Resume),
		"Checkpoint": method(s.Checkpoint),
		"Kill":       method(s.Kill),
		"Exec":       method(s.Exec),
		"ResizePty":  method(s.ResizePty),
		"CloseIO":    method(s.CloseIO),
		"Update":     method(s.Update),
		"Wait":       method(s.Wait),
		"Stats":      method(s.Stats),
		"Connect":    method(s.Connect),
		"Shutdown":   method(s.Shutdown),
	}
	for _, name := range Names {
		server.RegisterService(name, &ttrpc.ServiceDesc{Methods: methods})
	}
}

// method turns a handler into a ttrpc method, and its errors into gRPC errors.
func method[Req, Resp any](handle func(context.Context, *Req) (*Resp, error)) ttrpc.Method {
	return func(ctx context.Context, decode func(any) error) (any, error) {
		req := new(Req)
		if err := decode(req); err != nil {
			return nil, err
		}
		resp, err := handle(ctx, req)
		if err != nil {
			return nil, errgrpc.ToGRPC(err)
		}
		return resp, nil
	}
}

var empty = &emptypb.Empty{}

// container returns the container with that id, or an error that matches
// errdefs.ErrNotFound.
func (s *Service) container(id string) (*container, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.containers[id]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("container %q is not created: %w", id, errdefs.ErrNotFound)
}

// Create makes a container whose process waits for Start.
func (s *Service) Create(_ context.Context, r *task.CreateTaskRequest) (*task.CreateTaskResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.containers[r.ID] != nil {
		return nil, fmt.Errorf("container %q: %w", r.ID, errdefs.ErrAlreadyExists)
	}
	if r.Checkpoint != "" {
		return nil, fmt.Errorf("a fake shim restores no checkpoint: %w", errdefs.ErrNotImplemented)
	}
	c, err := newContainer(r)
	if err != nil {
		return nil, err
	}
	s.containers[r.ID] = c
	pid := uint32(c.init.PID())
	s.Publish(&events.TaskCreate{
		ContainerID: r.ID, Bundle: r.Bundle, Rootfs: r.Rootfs, Checkpoint: r.Checkpoint, Pid: pid,
		IO: &events.TaskIO{Stdin: r.Stdin, Stdout: r.Stdout, Stderr: r.Stderr, Terminal: r.Terminal},
	})
	c.init.Watch(s.initExited(c))
	return &task.CreateTaskResponse{Pid: pid}, nil
}

// Start lets a container's process or an exec run.
func (s *Service) Start(_ context.Context, r *task.StartRequest) (*task.StartResponse, error) {
	c, err := s.container(r.ID)
	if err != nil {
		return nil, err
	}
	if r.ExecID != "" {
		return s.startExec(c, r.ExecID)
	}
	// The start is published first: the process may exit at once, and its exit must
	// follow.
	pid := uint32(c.init.PID())
	if err := c.init.Start(func() { s.Publish(&events.TaskStart{ContainerID: c.id, Pid: pid}) }); err != nil {
		return nil, err
	}
	return &task.StartResponse{Pid: pid}, nil
}

// Delete removes a stopped container, or an exec, and returns its exit.
func (s *Service) Delete(ctx context.Context, r *task.DeleteRequest) (*task.DeleteResponse, error) {
	c, err := s.container(r.ID)
	if err != nil {
		return nil, err
	}
	if r.ExecID != "" {
		return s.deleteExec(ctx, c, r.ExecID)
	}
	exit, err := c.init.Remove(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	gone := s.containers[r.ID] != c
	delete(s.containers, r.ID)
	s.mu.Unlock()
	if gone {
		return nil, fmt.Errorf("container %q was deleted meanwhile: %w", r.ID, errdefs.ErrNotFound)
	}
	resp, err := deleteResponse(c.behaviour, exit)
	if err != nil {
		return nil, err
	}
	s.Publish(&events.TaskDelete{ContainerID: c.id, Pid: resp.Pid, ExitStatus: resp.ExitStatus, ExitedAt: resp.ExitedAt})
	return resp, nil
}

// Connect returns the shim's process id.
func (s *Service) Connect(_ context.Context, r *task.ConnectRequest) (*task.ConnectResponse, error) {
	resp := &task.ConnectResponse{ShimPid: uint32(os.Getpid())}
	if c, err := s.container(r.ID); err == nil {
		resp.TaskPid = uint32(c.init.PID())
	}
	return resp, nil
}

// Shutdown ends the shim if it has no containers left.
func (s *Service) Shutdown(context.Context, *task.ShutdownRequest) (*emptypb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.containers) > 0:
		s.Log("not shut down: %d containers left", len(s.containers))
	case s.Behaviour.Shutdown == "ignore":
		s.Log("shutdown ignored, as asked")
		return empty, proof.Note("shutdown", "responded to Shutdown and kept running")
	default:
		s.Stop()
	}
	return empty, nil
}
