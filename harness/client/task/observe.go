package task

import (
	"context"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	tasktypes "github.com/containerd/containerd/api/types/task"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
)

// query asks for the state of each object that a step was about, and for the list of all
// tasks.
func (s *scripted) query(ctx context.Context, step int) {
	seen := map[script.Object]bool{}
	for _, one := range s.steps[:step] {
		for _, of := range one.Of {
			if !seen[of] {
				seen[of] = true
				s.observe(ctx, step, of.String(), harness.FieldState, s.askedState(of))
			}
		}
	}
	for n := range s.of {
		if of := script.Container(n); seen[of] {
			s.observe(ctx, step, of.String(), harness.FieldList, s.askedList(of))
		}
	}
}

// observe asks for a value, and keeps it.
func (s *scripted) observe(ctx context.Context, step int, of, field string,
	ask func(context.Context, *containerd.Client) (string, error)) {
	o := harness.Observed{Step: step, At: time.Now(), Of: of, Field: field}
	ctx, cancel := context.WithTimeout(ctx, s.CallTimeout)
	defer cancel()
	cl, _, err := s.Up(ctx)
	if err == nil {
		o.Value, err = ask(ctx, cl)
	}
	o.Took = time.Since(o.At)
	if err = native(err); !errdefs.IsNotFound(err) {
		o.Err = callerr.Of(err)
	}
	s.Record.Set(func(h *harness.History) { h.Observed = append(h.Observed, o) })
}

// askedState asks for the state of a task or an exec.
func (s *scripted) askedState(of script.Object) func(context.Context, *containerd.Client) (string, error) {
	i, e := s.instance(of), s.execOf(of)
	return func(ctx context.Context, cl *containerd.Client) (string, error) {
		r, err := cl.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: i.ID, ExecID: execID(of)})
		if err != nil {
			return "", err
		}
		s.learn(i, e, of, exit.ByTaskStatus, r.Process)
		return r.GetProcess().GetStatus().String(), nil
	}
}

// askedList asks for the list of all tasks, and what it has of one.
func (s *scripted) askedList(of script.Object) func(context.Context, *containerd.Client) (string, error) {
	i := s.instance(of)
	return func(ctx context.Context, cl *containerd.Client) (string, error) {
		r, err := cl.TaskService().List(ctx, &tasks.ListTasksRequest{})
		if err != nil {
			return "", err
		}
		for _, p := range r.Tasks {
			if p.ID == i.ID {
				s.learn(i, nil, of, exit.ByTaskList, p)
				return p.GetStatus().String(), nil
			}
		}
		return "", nil
	}
}

// learn notes the exit status that a state has with it.
func (s *scripted) learn(i *harness.Instance, e *harness.Exec, of script.Object, by exit.Observer,
	p *tasktypes.Process) {
	switch {
	case p.GetStatus() != tasktypes.Status_STOPPED:
	case !of.IsExec():
		s.stateSays(i, by, p)
	case e != nil && !e.Started.IsZero():
		s.execReported(i, e, by, p.ExitStatus, p.ExitedAt.AsTime(), p.Pid)
	}
}
