package task

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/typeurl/v2"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
)

// signalTimeout is how long an exec may run on after its signal. It takes some 10 ms, and
// longer on a loaded machine.
const signalTimeout = 10 * time.Second

// add adds an exec. Each exec has a record of its own, also if its id was used before.
func (c *Client) add(ctx context.Context, of script.Object, _ string) error {
	i := c.instance(of)
	e := c.newExec(i, of)
	if err := c.CreateRecord(i.Record(*e)); err != nil {
		return err
	}
	err := c.on(ctx, "add", of, func(ctx context.Context, cl *containerd.Client) error {
		r, err := c.execRequest(ctx, cl, i, e)
		if err == nil {
			_, err = cl.TaskService().Exec(ctx, r)
		}
		return err
	})
	if err == nil {
		e.Added = time.Now()
	}
	if harness.ResponseOf(callerr.Of(err)) != harness.Done && !c.mayBe(err) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if r := c.outputs[e]; r != nil {
			r.Discard()
			delete(c.outputs, e)
		}
		i.Execs = i.Execs[:len(i.Execs)-1]
	}
	return err
}

// mayBe reports whether a failed call may have created its object all the same.
func (c *Client) mayBe(err error) bool {
	return c.Fired() || harness.ResponseOf(callerr.Of(err)) == harness.Lost
}

// newExec appends the record of a new exec to the container's execs.
func (c *Client) newExec(i *harness.Instance, of script.Object) *harness.Exec {
	spec := i.Spec.Execs[of.Exec]
	e := harness.Exec{ID: execID(of), Want: spec.Want(), Absent: spec.NoSuchCommand, LeavesChild: spec.LeavesChild,
		Signal: int(harness.Signals[spec.Signal]), Begun: time.Now()}
	e.Held = spec.Stays && !c.steps.Has("kill", of)
	e.Stays = spec.Stays && !e.Held
	e.Triggered = spec.Signal == "" && i.Spec.Stdin == 0 && c.steps.Has("end", of)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, other := range i.Execs {
		if other.ID == e.ID {
			e.Name = fmt.Sprintf("%s-%d", e.ID, len(i.Execs)+1)
		}
	}
	if i.Execs == nil { // with room for all execs, because pointers to them must stay valid
		i.Execs = make([]harness.Exec, 0, len(c.steps)*len(i.Spec.Execs))
	}
	i.Execs = append(i.Execs, e)
	return &i.Execs[len(i.Execs)-1]
}

func (c *Client) exec(ctx context.Context, of script.Object, arg string) error {
	if err := c.add(ctx, of, arg); err != nil {
		return err
	}
	return c.start(ctx, of, arg)
}

// execOf returns the last exec with the object's id, or nil if there was none.
func (c *Client) execOf(of script.Object) *harness.Exec {
	i := c.instance(of)
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := len(i.Execs) - 1; n >= 0; n-- {
		if of.IsExec() && i.Execs[n].ID == execID(of) {
			return &i.Execs[n]
		}
	}
	return nil
}

// execRequest returns the request that adds an exec. It also creates the FIFOs for the
// exec's stdio.
func (c *Client) execRequest(
	ctx context.Context,
	cl *containerd.Client,
	i *harness.Instance,
	e *harness.Exec,
) (*tasks.ExecProcessRequest, error) {
	made, err := cl.LoadContainer(ctx, i.ID)
	if err != nil {
		return nil, err
	}
	spec, err := made.Spec(ctx)
	if err != nil {
		return nil, err
	}
	name, value := client.Env(i.Record(*e))
	p := *spec.Process
	p.Args, p.Env = client.ExecCommand(i, *e), []string{name + "=" + value}
	what, err := typeurl.MarshalAnyToProto(&p)
	if err != nil {
		return nil, err
	}
	r := &tasks.ExecProcessRequest{ContainerID: i.ID, ExecID: e.ID, Spec: what}
	if out := c.output(i, e); out != nil {
		files, err := out.create(c.FIFOs)(i.Record(*e))
		if err != nil {
			return nil, err
		}
		r.Stdin, r.Stdout, r.Stderr = files.Config().Stdin, files.Config().Stdout, files.Config().Stderr
		r.Terminal = files.Config().Terminal
	}
	return r, nil
}

func (c *Client) execReported(
	i *harness.Instance,
	e *harness.Exec,
	by exit.Observer,
	status uint32,
	at time.Time,
	pid uint32,
) {
	c.Record.Reported(exit.Observation{
		Container: i.ID, Exec: e.ID, Observer: by, Status: status, At: at, PID: int(pid),
	})
}
