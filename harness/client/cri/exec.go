package cri

import (
	"context"
	"slices"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"google.golang.org/grpc/codes"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle"
	"github.com/shimquake/shimquake/poll"
)

// execsOf are the execs of a container: one ExecSync at most, so that the events of execs
// are its.
func execsOf(spec harness.Container) []harness.Exec {
	switch {
	case spec.Exec > 0:
		return []harness.Exec{{Name: "e0", Want: uint32(spec.Exec), Sync: &harness.ExecSync{}}}
	case spec.HeldExec:
		return []harness.Exec{{Name: "e0", Want: (harness.Container{Signal: "SIGKILL"}).Want(), Held: true,
			Sync: &harness.ExecSync{}}}
	case spec.NoSuchExec:
		return []harness.Exec{{Name: "e0", Absent: true, Sync: &harness.ExecSync{}}}
	case spec.TimedExec:
		return []harness.Exec{{Name: "e0", Want: (harness.Container{Signal: "SIGKILL"}).Want(),
			Sync: &harness.ExecSync{Timeout: harness.ExecTimeout}}}
	}
	return nil
}

// exec runs the execs of a container, as kubelet runs its probes: what fails is not tried
// again. Then it looks at what they have left while their container lives on.
func (c *Client) exec(ctx context.Context, i *harness.Instance) {
	for n := range i.Execs {
		e := &i.Execs[n]
		if e.Held {
			continue
		}
		if err := c.Expect(i.Record(*e)); err != nil {
			c.Record.Problem(harness.ByHarness, err)
			return
		}
		var had, has oracle.Belongings
		var err error
		c.aside(func() { had, err = c.Belongings(i.ID) })
		c.execSync(ctx, i, e)
		c.aside(func() {
			c.lookAfter(ctx, i, e)
			if err == nil {
				has, err = c.Belongings(i.ID)
			}
		})
		if err != nil {
			c.Record.Failed("oracle", "what an exec has left is not known", err)
			continue
		}
		e.Sync.Left = slices.DeleteFunc(has.Have, func(b oracle.Belonging) bool {
			return slices.ContainsFunc(had.Have, func(was oracle.Belonging) bool { return was.Path == b.Path })
		})
	}
}

// beginHeld runs an exec until the end of its container, in a call that is answered then.
// What it returns waits for the answer.
func (c *Client) beginHeld(ctx context.Context, i *harness.Instance) (answered func()) {
	if len(i.Execs) == 0 || !i.Execs[0].Held {
		return func() {}
	}
	e := i.Execs[0] // others may look at the instance meanwhile
	sync := *e.Sync
	e.Sync = &sync
	if err := c.Expect(i.Record(e)); err != nil {
		c.Record.Problem(harness.ByHarness, err)
		return func() {}
	}
	record, done := i.Record(e), make(chan struct{})
	running, stop := context.WithCancel(ctx) // one whose call has failed never runs
	defer stop()
	go func() {
		defer close(done)
		defer stop()
		c.execSync(ctx, i, &e)
	}()
	c.AwaitRecord(running, record, true)
	return func() {
		<-done
		if !e.Waited.IsZero() {
			client.AwaitExec(ctx, c.Events, i.ID, oracle.TopicExit)
		}
		client.LearnExec(&e, i.ID, c.Events.Events())
		i.Execs[0] = e
	}
}

// execSync makes the call. That its time is over is an answer, of an exec that has one.
func (c *Client) execSync(ctx context.Context, i *harness.Instance, e *harness.Exec) {
	e.Begun = time.Now()
	err := c.call(ctx, "ExecSync", i.Name, func(ctx context.Context, rt api.RuntimeServiceClient) error {
		r, err := rt.ExecSync(ctx, &api.ExecSyncRequest{
			ContainerId: i.ID, Cmd: c.execCommand(i, e), Timeout: int64(e.Sync.Timeout / time.Second),
		})
		e.Sync.Answered = time.Now()
		timeout := e.Timed() && ctx.Err() == nil && oracle.Code(err) == codes.DeadlineExceeded
		if err != nil && !timeout {
			return err
		}
		if e.Sync.Err = oracle.FailedOf(err); err == nil {
			e.Sync.Status = uint32(r.ExitCode)
			out := client.ReadLines(string(r.Stdout), string(r.Stderr))
			e.Outputs = &out
		}
		e.Added, e.Started, e.Waited, e.Deleted = e.Sync.Answered, e.Sync.Answered, e.Sync.Answered, e.Sync.Answered
		return nil
	})
	if err != nil {
		e.Sync.Answered, e.Sync.Err = time.Now(), oracle.FailedOf(err)
		c.awaitDeath(ctx, err)
	}
}

// deathPatience is how long it may take until a containerd that has broken a call off is
// known to have ended.
const deathPatience = time.Second

// awaitDeath waits until it is known that a containerd has ended which has broken a call
// off: the container is not to end before another one is up.
func (c *Client) awaitDeath(ctx context.Context, err error) {
	if oracle.FailedOf(err).Code != codes.Unavailable.String() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, deathPatience)
	defer cancel()
	_ = poll.Until(ctx, statusPause, func() (bool, error) { return c.Died(), nil }) // one that lives is up
}

// execCommand is what an exec is asked to do. CRI gives it the environment of its
// container, whose record it must not write.
func (c *Client) execCommand(i *harness.Instance, e *harness.Exec) []string {
	_, record := client.Env(i.Record(*e))
	return append(client.ExecCommand(i, *e), "-truth", record)
}

// stillFor is how long it is looked whether an exec lives whose time is over: its heart
// would beat 5 times.
const stillFor = 5 * payload.WriteEvery

// lookAfter looks whether an exec lives on whose time was over, and asks for what
// containerd knows of one that has ended, or was refused.
func (c *Client) lookAfter(ctx context.Context, i *harness.Instance, e *harness.Exec) {
	last := oracle.TopicExit
	switch {
	case e.Absent:
		last = oracle.TopicExecAdded
	case e.Waited.IsZero():
		return
	}
	if e.Timed() {
		before := c.Beats(i.Record(*e))
		window := time.NewTimer(stillFor) // that nothing happens takes time to see
		defer window.Stop()
		select {
		case <-window.C:
		case <-ctx.Done():
		}
		e.Sync.Beats = c.Beats(i.Record(*e)) - before
	}
	client.AwaitExec(ctx, c.Events, i.ID, last)
	if client.LearnExec(e, i.ID, c.Events.Events()); e.ID == "" || c.Quiet {
		return
	}
	ctx, cancel := context.WithTimeout(namespaces.WithNamespace(ctx, daemon.CRINamespace), c.CallTimeout)
	defer cancel()
	cl, _, err := c.Up(ctx)
	if err != nil {
		return // what it comes to is for others to say
	}
	if r, err := cl.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: i.ID, ExecID: e.ID}); err == nil {
		e.Kept = r.Process.GetStatus().String()
	}
}

// writes reports whether the output of a workload's containers is read: CRI keeps a log
// of each.
func (c *Client) writes() bool {
	write := func(k harness.Container) bool { return k.Lines > 0 }
	return !c.again && slices.ContainsFunc(c.Case.Workload.Containers, write)
}
