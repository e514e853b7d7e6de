package service

import (
	"context"
	"fmt"
	"os"
	"syscall"

	cgroup1 "github.com/containerd/cgroups/v3/cgroup1/stats"
	cgroup2 "github.com/containerd/cgroups/v3/cgroup2/stats"
	task "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/containerd/api/types/runc/options"
	types "github.com/containerd/containerd/api/types/task"
	"github.com/containerd/errdefs"
	"github.com/containerd/typeurl/v2"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	events "github.com/containerd/containerd/api/events"

	"github.com/shimquake/shimquake/shims/fakeshim/behaviour"
	"github.com/shimquake/shimquake/shims/fakeshim/process"
	"github.com/shimquake/shimquake/shims/fakeshim/proof"
)

// statuses are containerd's names of the states of a process.
var statuses = map[process.Status]types.Status{
	process.Created: types.Status_CREATED,
	process.Running: types.Status_RUNNING,
	process.Paused:  types.Status_PAUSED,
	process.Stopped: types.Status_STOPPED,
}

// State returns the state of a process.
func (s *Service) State(_ context.Context, r *task.StateRequest) (*task.StateResponse, error) {
	c, err := s.container(r.ID)
	if err != nil {
		return nil, err
	}
	p, io, err := c.find(r.ExecID)
	if err != nil {
		return nil, err
	}
	resp := &task.StateResponse{
		ID: c.id, Bundle: c.bundle, ExecID: r.ExecID, Status: types.Status_CREATED,
		Stdin: io.stdin, Stdout: io.stdout, Stderr: io.stderr, Terminal: io.terminal,
	}
	if r.ExecID != "" {
		resp.ID = r.ExecID
	}
	if p == nil {
		return resp, nil
	}
	status, exit := p.State()
	resp.Pid, resp.Status = uint32(p.PID()), statuses[status]
	if status == process.Stopped {
		if resp.ExitStatus, err = proof.Status(c.behaviour, behaviour.InState, exit.Status); err != nil {
			return nil, err
		}
		resp.ExitedAt = timestamppb.New(exit.At)
	}
	return resp, nil
}

// Wait waits until a process has exited, and returns its exit status and time.
func (s *Service) Wait(ctx context.Context, r *task.WaitRequest) (*task.WaitResponse, error) {
	c, p, err := s.started(r.ID, r.ExecID)
	if err != nil {
		return nil, err
	}
	exit, err := p.Wait(ctx)
	if err != nil {
		return nil, err
	}
	status, err := proof.Status(c.behaviour, behaviour.InWait, exit.Status)
	if err != nil {
		return nil, err
	}
	return &task.WaitResponse{ExitStatus: status, ExitedAt: timestamppb.New(exit.At)}, nil
}

// Kill sends a signal to a process, or to all processes of a container.
func (s *Service) Kill(_ context.Context, r *task.KillRequest) (*emptypb.Empty, error) {
	c, p, err := s.started(r.ID, r.ExecID)
	if err != nil {
		return nil, err
	}
	signal := syscall.Signal(r.Signal)
	if r.All {
		c.mu.Lock()
		for _, e := range c.execs {
			if e.process != nil {
				_ = e.process.Kill(signal) // an ended process needs no signal
			}
		}
		c.mu.Unlock()
	}
	return empty, p.Kill(signal)
}

// started returns a container and its process, which may have exited. The error matches
// errdefs.ErrNotFound for an unknown id, and ErrFailedPrecondition for an exec that was
// not started.
func (s *Service) started(id, execID string) (*container, *process.Process, error) {
	c, err := s.container(id)
	if err != nil {
		return nil, nil, err
	}
	p, _, err := c.find(execID)
	if err == nil && p == nil {
		err = fmt.Errorf("exec %q is not started: %w", execID, errdefs.ErrFailedPrecondition)
	}
	return c, p, err
}

// Pids lists the processes of a container.
func (s *Service) Pids(_ context.Context, r *task.PidsRequest) (*task.PidsResponse, error) {
	c, err := s.container(r.ID)
	if err != nil {
		return nil, err
	}
	resp := &task.PidsResponse{}
	if status, _ := c.init.State(); status != process.Stopped {
		resp.Processes = append(resp.Processes, &types.ProcessInfo{Pid: uint32(c.init.PID())})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, e := range c.execs {
		if e.process == nil {
			continue
		}
		if status, _ := e.process.State(); status == process.Stopped {
			continue
		}
		info, err := typeurl.MarshalAnyToProto(&options.ProcessDetails{ExecID: id})
		if err != nil {
			return nil, err
		}
		resp.Processes = append(resp.Processes, &types.ProcessInfo{Pid: uint32(e.process.PID()), Info: info})
	}
	return resp, nil
}

// Pause stops the container's first process with SIGSTOP.
func (s *Service) Pause(_ context.Context, r *task.PauseRequest) (*emptypb.Empty, error) {
	return s.change(r.ID, (*process.Process).Freeze, &events.TaskPaused{ContainerID: r.ID})
}

// Resume undoes Pause.
func (s *Service) Resume(_ context.Context, r *task.ResumeRequest) (*emptypb.Empty, error) {
	return s.change(r.ID, (*process.Process).Thaw, &events.TaskResumed{ContainerID: r.ID})
}

// change changes a container's first process, and publishes the event of the change.
func (s *Service) change(id string, how func(*process.Process) error, event any) (*emptypb.Empty, error) {
	c, err := s.container(id)
	if err != nil {
		return nil, err
	}
	if err := how(c.init); err != nil {
		return nil, err
	}
	s.Publish(event)
	return empty, nil
}

// Stats returns metrics of cgroup v1 or v2, as this machine has. All are zero except for
// the number of processes.
func (s *Service) Stats(ctx context.Context, r *task.StatsRequest) (*task.StatsResponse, error) {
	pids, err := s.Pids(ctx, &task.PidsRequest{ID: r.ID})
	if err != nil {
		return nil, err
	}
	n := uint64(len(pids.Processes))
	var metrics any = &cgroup1.Metrics{Pids: &cgroup1.PidsStat{Current: n},
		CPU: &cgroup1.CPUStat{Usage: &cgroup1.CPUUsage{}}}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		metrics = &cgroup2.Metrics{Pids: &cgroup2.PidsStat{Current: n}, CPU: &cgroup2.CPUStat{}}
	}
	body, err := typeurl.MarshalAnyToProto(metrics)
	if err != nil {
		return nil, err
	}
	return &task.StatsResponse{Stats: body}, nil
}

// Update is accepted and changes nothing: there is no cgroup.
func (s *Service) Update(_ context.Context, r *task.UpdateTaskRequest) (*emptypb.Empty, error) {
	_, err := s.container(r.ID)
	return empty, err
}

// CloseIO is accepted: a payload reads no input.
func (s *Service) CloseIO(_ context.Context, r *task.CloseIORequest) (*emptypb.Empty, error) {
	return s.touch(r.ID, r.ExecID)
}

// ResizePty is accepted: there is no terminal.
func (s *Service) ResizePty(_ context.Context, r *task.ResizePtyRequest) (*emptypb.Empty, error) {
	return s.touch(r.ID, r.ExecID)
}

func (s *Service) touch(id, execID string) (*emptypb.Empty, error) {
	c, err := s.container(id)
	if err != nil {
		return nil, err
	}
	_, _, err = c.find(execID)
	return empty, err
}

// Checkpoint is not implemented.
func (s *Service) Checkpoint(context.Context, *task.CheckpointTaskRequest) (*emptypb.Empty, error) {
	return nil, fmt.Errorf("a fake shim makes no checkpoint: %w", errdefs.ErrNotImplemented)
}
