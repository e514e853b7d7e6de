// Package task is the client that uses containerd's own API, as dockerd does.
package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/containerd/containerd/v2/pkg/namespaces"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle/exit"
)

// Client is one client with its workload.
type Client struct {
	*client.Session
	instances []*harness.Instance
	// undeleted are those whose Delete has failed: it must be sent again.
	undeleted map[*harness.Instance]bool
	// outputs are the readers of what writes, by *harness.Instance or *harness.Exec.
	outputs map[any]*reader
	waiters map[*harness.Instance]*waiters
	// startedAs are the pids that Start was answered with.
	startedAs map[*harness.Instance]uint32
}

// New makes the client of a case.
func New(s *client.Session) *Client {
	c := &Client{Session: s, undeleted: map[*harness.Instance]bool{}, outputs: map[any]*reader{},
		waiters: map[*harness.Instance]*waiters{}, startedAs: map[*harness.Instance]uint32{}}
	for n, spec := range s.Case.Workload.Containers {
		id := fmt.Sprintf("c%d", n)
		i := &harness.Instance{Name: id, ID: id, Spec: spec}
		if steps, _ := s.Case.Workload.Steps(); steps == nil {
			i.MustTell, i.Execs = c.observers(n), execsOf(spec)
		}
		c.instances = append(c.instances, i)
	}
	return c
}

// observers are those that tell the exit of the n-th container when nothing is broken.
func (c *Client) observers(n int) []exit.Observer {
	all := []exit.Observer{exit.ByDelete, exit.ByTaskStatus}
	if !c.Quiet {
		all = append(all, exit.ByTaskList)
	}
	switch {
	case !c.Case.Workload.Restart:
		return append(all, exit.ByWait)
	case n == 0:
		return append(all, exit.ByRestarted)
	}
	// A containerd that starts deletes tasks without a process (loadShims in v1.6 to v2.4),
	// so that the client finds none to delete.
	return []exit.Observer{exit.ByWait}
}

// Instances are all containers of the workload.
func (c *Client) Instances() []*harness.Instance { return c.instances }

// Shares reports whether a shim serves all containers.
func (c *Client) Shares(shim string) bool {
	return c.Case.Workload.Grouped && shim == c.instances[0].ID
}

// namespaced is a context of the task workload's containerd namespace.
func namespaced(ctx context.Context) context.Context {
	return namespaces.WithNamespace(ctx, daemon.TaskNamespace)
}

// Run goes through the lifecycle and removes everything. A call that hangs takes the time
// of the lifecycle, and not that of the removal.
func (c *Client) Run(ctx context.Context) error {
	life, cancel := context.WithTimeout(namespaced(ctx), c.Case.Workload.Deadline)
	defer cancel()
	if steps, _ := c.Case.Workload.Steps(); steps != nil { // an error is a problem of the case
		c.play(life, steps)
	} else {
		c.lifecycle(life)
	}
	ctx, cancel = context.WithTimeout(namespaced(ctx), c.Case.Workload.Deadline)
	defer cancel()
	c.SeeGone(ctx, c.instances)
	var errs []error
	for _, i := range slices.Backward(c.instances) {
		if c.isUsedAgain(i) {
			continue // the last use of the id has its container
		}
		errs = append(errs, c.remove(ctx, i))
		i.Outputs = c.outputs[i].close()
		c.learnInput(i.Input, i.Name)
	}
	c.State(ctx, "deleted")
	return errors.Join(errs...)
}

// lifecycle goes as far as it gets: what fails is left to remove.
func (c *Client) lifecycle(ctx context.Context) {
	var live []*harness.Instance
	for _, i := range c.instances {
		if c.create(ctx, i, c.Runtime) == nil {
			live = append(live, i)
		}
	}
	c.AwaitCreated(ctx, live)
	c.seeStates(ctx, "create", live)
	c.State(ctx, "created")
	live = slices.DeleteFunc(live, func(i *harness.Instance) bool { return c.start(ctx, i) != nil })
	c.AwaitStarted(ctx, live)
	c.seeStates(ctx, "start", live)
	for _, i := range live {
		c.beginHeld(ctx, i)
		c.beginWaiting(ctx, i)
	}
	c.State(ctx, "running")
	c.RestNow(ctx, client.IDs(live)...)
	last := live
	if c.Case.Workload.Restart && len(live) > 0 {
		c.ending(ctx, live[1:])
		c.RestartNow(ctx, live[0].ID)
		last = live[:1]
	}
	c.ending(ctx, last)
	c.State(ctx, "exited")
	for _, i := range slices.Backward(live) {
		c.deleteByAll(ctx, i)
	}
}

// ending lets containers come to their end.
func (c *Client) ending(ctx context.Context, all []*harness.Instance) {
	for _, i := range all {
		c.exec(ctx, i)
		c.pause(ctx, i)
		c.KillChild(ctx, i)
		c.end(ctx, i)
	}
	for _, i := range all {
		c.wait(ctx, i)
		c.endWaiting(ctx, i)
		c.endHeld(ctx, i)
	}
}

// isUsedAgain reports whether the id of a container has a later use.
func (c *Client) isUsedAgain(i *harness.Instance) bool {
	last := i
	for _, other := range c.instances {
		if other.ID == i.ID {
			last = other
		}
	}
	return last != i
}

// Reuse uses the first id for a whole lifecycle without faults. The shim is another one
// than the workload's where that is cheaper: what of runc could be in the way, its state
// and its cgroup, the oracle has looked for, and the rest (metadata, snapshot, bundle,
// socket) is in the way of any shim. Briefly it creates and deletes the container and the
// snapshot only.
func (c *Client) Reuse(ctx context.Context, briefly bool) (harness.Use, error) {
	ctx, cancel := context.WithTimeout(namespaced(ctx), c.Case.Workload.Deadline)
	defer cancel()
	i := &harness.Instance{Name: c.instances[0].Name, ID: c.instances[0].ID}
	switch {
	case briefly:
		return harness.Use{}, errors.Join(c.createBriefly(ctx, i), c.remove(ctx, i))
	case c.Case.Workload.KillAgain:
		return harness.Use{}, errors.Join(c.killAgain(ctx, i), c.remove(ctx, i))
	}
	use := harness.Use{ID: i.ID, Want: i.Spec.Want(), From: time.Now()}
	err := errors.Join(c.create(ctx, i, c.OtherRuntime), c.start(ctx, i))
	if err == nil {
		c.end(ctx, i)
		c.wait(ctx, i)
		err = client.CheckReuse(i)
	}
	use.PID = i.PID
	return use, errors.Join(err, c.remove(ctx, i))
}

// killAgain has the shim of a second use die while its container runs, and waits until
// somebody tells of the container's end. That nobody does is the judge's business.
func (c *Client) killAgain(ctx context.Context, i *harness.Instance) error {
	i.Spec.Signal = "SIGKILL" // it runs until it is killed
	if err := errors.Join(c.create(ctx, i, c.Runtime), c.start(ctx, i)); err != nil {
		return err
	}
	if !c.KillShim(ctx, int(i.PID)) {
		return nil
	}
	o := harness.Orphan{ID: i.ID, PID: int(i.PID), At: time.Now()}
	client.AwaitExitOf(ctx, c.Events, i.ID, o.PID)
	o.Until = time.Now()
	c.Record.Set(func(h *harness.History) { h.Orphan = &o })
	return nil
}
