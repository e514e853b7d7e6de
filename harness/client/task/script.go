package task

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"google.golang.org/grpc/status"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/client/play"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
)

// scripted is the state of a client that plays a script.
type scripted struct {
	*Client
	steps script.Script
	mu    sync.Mutex // of the lists that concurrent steps append to
	// of are the containers as they are now, by their place in the workload: the last use of
	// each id.
	of []*harness.Instance
}

// play plays the script of the workload.
func (c *Client) play(ctx context.Context, steps script.Script) {
	s := &scripted{Client: c, steps: steps, of: append([]*harness.Instance(nil), c.instances...)}
	p := play.Player{Session: c.Session, Script: steps, Verbs: s.verbs()}
	if s.queries() {
		p.Query = s.query
	}
	p.Play(ctx)
}

// queries reports whether the client asks for states and lists behind each step. With a
// fault it does not: the model does not judge what it reports.
func (c *Client) queries() bool { return !c.Quiet && c.Case.Faultless() }

// verbs are the calls of the client, by the verbs of package script.
func (s *scripted) verbs() map[string]play.Verb {
	return map[string]play.Verb{
		"create": s.create, "start": s.start, "end": s.end, "kill": s.kill, "wait": s.wait, "delete": s.delete,
		"pause": s.pause, "resume": s.resume, "add": s.add, script.Exec: s.exec, "restart": s.restart,
		script.Install: s.install,
	}
}

// instance is the container of an object.
func (s *scripted) instance(of script.Object) *harness.Instance { return s.of[of.Container] }

// on is one call of a step on an object.
func (s *scripted) on(ctx context.Context, verb string, of script.Object,
	f func(context.Context, *containerd.Client) error) error {
	return s.Call(ctx, verb, of.String(), func(ctx context.Context) error {
		cl, _, err := s.Up(ctx)
		if err != nil {
			return err
		}
		return native(f(ctx, cl))
	})
}

// native is an error of the Go library as it is, and one of gRPC as the library has it.
func native(err error) error {
	if _, ok := status.FromError(err); ok {
		return errgrpc.ToNative(err)
	}
	return err
}

// execID is the id of an exec, "" of a container's init.
func execID(of script.Object) string {
	if !of.IsExec() {
		return ""
	}
	return fmt.Sprintf("e%d", of.Exec)
}

// create creates the container, if there is none, and its task. A later task of the same
// id is another use of the id. It has a record and a trigger of its own.
func (s *scripted) create(ctx context.Context, of script.Object, _ string) error {
	i := s.instance(of)
	again := !i.Begun.IsZero()
	if again {
		i = s.next(i)
	}
	if err := s.Expect(i.Name); err != nil {
		return err
	}
	i.Begun = time.Now()
	if of.Container == 0 && i.PID == 0 {
		s.Learn("task", i.ID, 0)
	}
	err := s.on(ctx, "create", of, func(ctx context.Context, cl *containerd.Client) error {
		var made containerd.Container
		var err error = errdefs.ErrNotFound
		if again {
			made, err = cl.LoadContainer(ctx, i.ID)
		}
		if errdefs.IsNotFound(err) {
			made, err = s.container(ctx, cl, i, s.Runtime)
		} else if err == nil {
			err = made.Update(ctx, s.withSpec(i))
		}
		if err != nil {
			return err
		}
		task, err := made.NewTask(ctx, s.io(i))
		if err == nil {
			i.PID, i.Created = task.Pid(), time.Now()
		}
		return err
	})
	if err == nil || s.instance(of).Begun.IsZero() {
		s.begin(of, i)
	}
	if err == nil {
		if of.Container == 0 {
			s.Learn("task", i.ID, int(i.PID))
		}
		s.AwaitCreated(ctx, []*harness.Instance{i})
	}
	return err
}

// next is another use of the id of a container.
func (s *scripted) next(was *harness.Instance) *harness.Instance {
	n := 1
	for _, i := range s.instances {
		if i.ID == was.ID {
			n++
		}
	}
	return &harness.Instance{Name: fmt.Sprintf("%s-%d", was.ID, n), ID: was.ID, Spec: was.Spec}
}

// begin makes a use of an id the one that further steps are about.
func (s *scripted) begin(of script.Object, i *harness.Instance) {
	if s.of[of.Container] == i {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[of.Container] = i
	s.instances = append(s.instances, i)
}

// withSpec gives the record of a container the specification of a new use of its id.
func (s *scripted) withSpec(i *harness.Instance) containerd.UpdateContainerOpts {
	return containerd.UpdateContainerOpts(containerd.WithNewSpec(s.spec(i)...))
}

func (s *scripted) start(ctx context.Context, of script.Object, _ string) error {
	i, e := s.instance(of), s.execOf(of)
	err := s.on(ctx, "start", of, func(ctx context.Context, cl *containerd.Client) error {
		if err := s.load(ctx, cl, of); err != nil {
			return err
		}
		r, err := cl.TaskService().Start(ctx, &tasks.StartRequest{ContainerID: i.ID, ExecID: execID(of)})
		switch {
		case err != nil:
		case e != nil:
			e.PID, e.Started = r.Pid, time.Now()
		default:
			i.Started = time.Now()
		}
		return err
	})
	switch {
	case err != nil:
	case e != nil:
		s.AwaitRecord(ctx, i.Record(*e), e.Stays || e.Signal != 0)
	default:
		s.AwaitStarted(ctx, []*harness.Instance{i})
	}
	return err
}

// load asks for a task before a call about it, as the Go library does. The call itself is
// that of the tasks service: the library sends none that it expects to be refused.
func (s *scripted) load(ctx context.Context, cl *containerd.Client, of script.Object) error {
	if of.IsExec() {
		return nil
	}
	_, err := load(ctx, cl, s.instance(of).ID)
	return err
}

// end lets a payload come to its configured end: by its signal, by the end of its input,
// or by itself.
func (s *scripted) end(ctx context.Context, of script.Object, _ string) error {
	i, e := s.instance(of), s.execOf(of)
	signal := i.Spec.Signal
	if of.IsExec() {
		signal = i.Spec.Execs[of.Exec].Signal
	} else {
		s.KillChild(ctx, i)
	}
	switch {
	case i.Spec.Stdin > 0 && (e != nil || !of.IsExec()):
		s.feed(ctx, i, e)
		return nil
	case signal != "":
		return s.endBySignal(ctx, of, signal)
	case !of.IsExec() && !s.Case.Holds(i):
		return nil
	}
	return s.Call(ctx, "end", of.String(), func(ctx context.Context) error {
		switch {
		case !of.IsExec():
			s.Release(ctx, i)
		case e != nil:
			s.ReleaseExec(ctx, i, *e)
		}
		return nil
	})
}

// endBySignal sends the signal that ends a payload, and SIGKILL to one that ignores it.
func (s *scripted) endBySignal(ctx context.Context, of script.Object, signal string) error {
	err := s.kill(ctx, of, signal)
	if err != nil || of.IsExec() || !s.instance(of).Spec.IgnoresTerm {
		return err
	}
	grace := time.NewTimer(harness.StopGrace)
	defer grace.Stop()
	select {
	case <-grace.C:
		return s.kill(ctx, of, "SIGKILL")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *scripted) kill(ctx context.Context, of script.Object, signal string) error {
	i, e, number := s.instance(of), s.execOf(of), harness.Signals[signal]
	err := s.on(ctx, "kill", of, func(ctx context.Context, cl *containerd.Client) error {
		if err := s.load(ctx, cl, of); err != nil {
			return err
		}
		_, err := cl.TaskService().Kill(ctx, &tasks.KillRequest{
			ContainerID: i.ID, ExecID: execID(of), Signal: uint32(number)})
		return err
	})
	switch {
	case err != nil:
	case e == nil:
		s.Record.Sent(i.ID, int(number))
	case int(number) == e.Signal:
		e.Signalled, e.Patience = time.Now(), signalPatience
	}
	return err
}

// wait learns the exit status, and waits for the exit event: what a client does next may
// else be seen before it. For a container it waits until the end of the lifecycle, and is
// one call, however often the client has come back with it.
func (s *scripted) wait(ctx context.Context, of script.Object, _ string) error {
	if of.IsExec() {
		return s.on(ctx, "wait", of, func(ctx context.Context, cl *containerd.Client) error {
			return s.waitOnce(ctx, cl, of)
		})
	}
	call := harness.Call{Who: "client", Verb: "wait", Of: of.String(), At: time.Now()}
	var err error
	_ = client.Until(ctx, func(ctx context.Context) error {
		cl, _, up := s.Up(ctx)
		if err = up; err == nil {
			if err = s.load(ctx, cl, of); err == nil {
				err = s.waitOnce(ctx, cl, of)
			}
		}
		if err = native(err); errdefs.IsNotFound(err) {
			return nil
		}
		return err
	})
	s.Note(ctx, &call, err)
	if err != nil {
		return &callerr.Error{Call: "wait", Err: err}
	}
	return nil
}

func (s *scripted) waitOnce(ctx context.Context, cl *containerd.Client, of script.Object) error {
	i, e := s.instance(of), s.execOf(of)
	r, err := cl.TaskService().Wait(ctx, &tasks.WaitRequest{ContainerID: i.ID, ExecID: execID(of)})
	switch {
	case err != nil:
		return err
	case !of.IsExec():
		s.waited(i, *containerd.NewExitStatus(r.ExitStatus, r.ExitedAt.AsTime(), nil))
		s.AwaitExit(ctx, i.ID)
		s.AwaitOOM(ctx, i)
	case e != nil && !e.Started.IsZero():
		e.Waited = time.Now()
		s.execReported(i, e, exit.ByWait, r.ExitStatus, r.ExitedAt.AsTime(), e.PID)
	}
	return nil
}

// delete deletes a task or an exec. Before a task is deleted, it is asked for its state,
// as the Go library does.
func (s *scripted) delete(ctx context.Context, of script.Object, _ string) error {
	i, e := s.instance(of), s.execOf(of)
	if !of.IsExec() && !s.queries() {
		s.lookAtTask(ctx, i)
	}
	return s.on(ctx, "delete", of, func(ctx context.Context, cl *containerd.Client) error {
		if of.IsExec() {
			r, err := cl.TaskService().DeleteProcess(ctx, &tasks.DeleteProcessRequest{
				ContainerID: i.ID, ExecID: execID(of)})
			if err == nil && e != nil {
				if e.Deleted = time.Now(); !e.Started.IsZero() {
					s.execReported(i, e, exit.ByDelete, r.ExitStatus, r.ExitedAt.AsTime(), r.Pid)
				}
			}
			return err
		}
		task, err := load(ctx, cl, i.ID)
		if err == nil {
			_, err = task.Status(ctx)
		}
		var r *tasks.DeleteResponse
		if err == nil {
			r, err = cl.TaskService().Delete(ctx, &tasks.DeleteTaskRequest{ContainerID: i.ID})
		}
		if err == nil {
			i.Deleted = time.Now()
			s.reported(i, exit.ByDelete, r.ExitStatus, r.ExitedAt.AsTime(), r.Pid)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failedDelete(i, err != nil && !s.Overtaken(native(err)))
		return err
	})
}

func (s *scripted) pause(ctx context.Context, of script.Object, _ string) error {
	return s.on(ctx, "pause", of, func(ctx context.Context, cl *containerd.Client) error {
		_, err := cl.TaskService().Pause(ctx, &tasks.PauseTaskRequest{ContainerID: s.instance(of).ID})
		return err
	})
}

func (s *scripted) resume(ctx context.Context, of script.Object, _ string) error {
	return s.on(ctx, "resume", of, func(ctx context.Context, cl *containerd.Client) error {
		_, err := cl.TaskService().Resume(ctx, &tasks.ResumeTaskRequest{ContainerID: s.instance(of).ID})
		return err
	})
}

// add adds an exec. Each that is added is another use of its id, with a record of its
// own.
func (s *scripted) add(ctx context.Context, of script.Object, _ string) error {
	i, spec := s.instance(of), s.instance(of).Spec.Execs[of.Exec]
	e := harness.Exec{ID: execID(of), Want: spec.Want(), Stays: spec.Stays, Absent: spec.NoSuchCommand,
		Signal: int(harness.Signals[spec.Signal]), Begun: time.Now()}
	e.Triggered = spec.Signal == "" && s.steps.Has("end", of)
	for _, other := range i.Execs {
		if other.ID == e.ID {
			e.Name = fmt.Sprintf("%s-%d", e.ID, len(i.Execs)+1)
		}
	}
	if err := s.Expect(i.Record(e)); err != nil {
		return err
	}
	err := s.on(ctx, "add", of, func(ctx context.Context, cl *containerd.Client) error {
		r, err := execSpec(ctx, cl, i, &e)
		if err == nil {
			_, err = cl.TaskService().Exec(ctx, r)
		}
		return err
	})
	if err == nil {
		e.Added = time.Now()
		s.mu.Lock()
		defer s.mu.Unlock()
		if i.Execs == nil { // so that none moves while another step is about it
			i.Execs = make([]harness.Exec, 0, len(s.steps))
		}
		i.Execs = append(i.Execs, e)
	}
	return err
}

func (s *scripted) exec(ctx context.Context, of script.Object, arg string) error {
	if err := s.add(ctx, of, arg); err != nil {
		return err
	}
	return s.start(ctx, of, arg)
}

// execOf is the last use of an exec's id; nil: none was added.
func (s *scripted) execOf(of script.Object) *harness.Exec {
	i := s.instance(of)
	for n := len(i.Execs) - 1; n >= 0; n-- {
		if of.IsExec() && i.Execs[n].ID == execID(of) {
			return &i.Execs[n]
		}
	}
	return nil
}

func (s *scripted) restart(ctx context.Context, _ script.Object, _ string) error {
	return s.Call(ctx, "restart", "", s.Restart)
}

func (s *scripted) install(ctx context.Context, _ script.Object, programs string) error {
	return s.Call(ctx, script.Install, "", func(context.Context) error {
		return s.Install(script.InstallationOf(programs))
	})
}
