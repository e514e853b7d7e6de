package service

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	events "github.com/containerd/containerd/api/events"
	task "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/runtime-spec/specs-go"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/shimquake/shimquake/shims/fakeshim/behaviour"
	"github.com/shimquake/shimquake/shims/fakeshim/process"
	"github.com/shimquake/shimquake/shims/fakeshim/proof"
	"github.com/shimquake/shimquake/shims/fakeshim/record"
	"github.com/shimquake/shimquake/shims/fakeshim/spec"
)

// streams are the client's names of the standard streams of a process.
type streams struct {
	stdin, stdout, stderr string
	terminal              bool
}

// container is a task: its first process and its execs.
type container struct {
	id, bundle string
	spec       *spec.Spec
	behaviour  behaviour.Behaviour
	streams    streams
	init       *process.Process

	mu    sync.Mutex
	execs map[string]*execution
	over  bool // the first process has ended: no exec may start
}

func newContainer(r *task.CreateTaskRequest) (*container, error) {
	s, err := spec.Read(r.Bundle)
	if err != nil {
		return nil, err
	}
	b, err := s.Behaviour()
	if err != nil {
		return nil, errors.Join(err, errdefs.ErrInvalidArgument)
	}
	c := &container{
		id: r.ID, bundle: r.Bundle, spec: s, behaviour: b, execs: map[string]*execution{},
		streams: streams{r.Stdin, r.Stdout, r.Stderr, r.Terminal},
	}
	if c.init, err = c.create(s.Process, c.streams); err != nil {
		return nil, err
	}
	if err := record.Created(r.Bundle, c.init.Identity()); err != nil {
		kill := c.init.Kill(killSignal)
		c.init.Watch(func(process.Exit) {})
		<-c.init.Ended()
		return nil, errors.Join(err, kill)
	}
	return c, nil
}

// create starts a process of the container that waits at its gate.
func (c *container) create(what *specs.Process, to streams) (*process.Process, error) {
	m, err := c.spec.Mode(what)
	if err != nil {
		return nil, errors.Join(err, errdefs.ErrInvalidArgument)
	}
	for _, path := range []string{m.Path, m.Trigger} {
		if path == "" {
			continue
		}
		// Without a container, no other process creates the folders of its root
		// filesystem.
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
	}
	return process.Create(process.Params{
		Mode: m, Truth: c.spec.Truth(what), Stdin: to.stdin, Stdout: to.stdout, Stderr: to.stderr,
	})
}

// initExited returns the function that handles the end of the first process. Its execs
// end first, as in a container, and their exits are published before its own. The exit is
// recorded in the bundle for the delete command.
func (s *Service) initExited(c *container) func(process.Exit) {
	return func(exit process.Exit) {
		c.mu.Lock()
		c.over = true
		var running []*process.Process
		for _, e := range c.execs {
			if e.process != nil {
				running = append(running, e.process)
			}
		}
		c.mu.Unlock()
		for _, p := range running {
			if err := p.Kill(killSignal); err != nil && !errors.Is(err, errdefs.ErrNotFound) {
				s.Log("kill an exec of %s: %v", c.id, err)
			}
			<-p.Ended()
		}
		if err := record.Exited(c.bundle, exit); err != nil {
			s.Log("%s: %v", c.id, err)
		}
		s.publishExit(c, c.id, exit)
	}
}

func (s *Service) publishExit(c *container, id string, exit process.Exit) {
	status, err := proof.Status(c.behaviour, behaviour.InEvent, exit.Status)
	if err != nil {
		s.Log("%s: %v", c.id, err)
	}
	s.Publish(
		&events.TaskExit{
			ContainerID: c.id,
			ID:          id,
			Pid:         uint32(exit.PID),
			ExitStatus:  status,
			ExitedAt:    timestamppb.New(exit.At),
		},
	)
}

func deleteResponse(b behaviour.Behaviour, exit process.Exit) (*task.DeleteResponse, error) {
	status, err := proof.Status(b, behaviour.InDelete, exit.Status)
	if err != nil {
		return nil, err
	}
	return &task.DeleteResponse{Pid: uint32(exit.PID), ExitStatus: status, ExitedAt: timestamppb.New(exit.At)}, nil
}

// find returns the process of an exec, or of the container when execID is empty, with its
// streams. The process is nil for an exec that has not been started.
func (c *container) find(execID string) (*process.Process, streams, error) {
	if execID == "" {
		return c.init, c.streams, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.execs[execID]
	if e == nil {
		return nil, streams{}, fmt.Errorf("exec %q of container %q: %w", execID, c.id, errdefs.ErrNotFound)
	}
	return e.process, e.streams, nil
}
