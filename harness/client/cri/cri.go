// Package cri is the client that uses CRI, as kubelet does: it runs a pod, looks at its
// containers' status until they have exited, stops and removes it; what fails it does
// again.
package cri

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/exit"
)

// Client is one client with its pod.
type Client struct {
	*client.Session
	instances []*harness.Instance
	sandbox   string // id; "" while none is known
	// staying are those that run through all rounds of a crash loop, while they do.
	staying []*harness.Instance
	// awaited are those whose end has been waited for, see awaitStopped.
	awaited map[string]bool
	// removedAgain is set once something could not be removed.
	removedAgain bool
	// briefly has those whose stop was asked for and given up.
	briefly map[*harness.Instance]bool
	// unstarted are those of a round whose start containerd has refused.
	unstarted []*harness.Instance
	// logs are those of containers that write.
	logs map[*harness.Instance]*slowLog
	// triedNext is set once the name of a container's next attempt has been tried.
	triedNext bool
	// late is what all clients of the case know of what may come after its call.
	late *late
	// again is set of a client that uses the id again: what it sees is not written down.
	again bool
}

// New makes the client of a case.
func New(s *client.Session) *Client {
	c := &Client{Session: s, briefly: map[*harness.Instance]bool{}, late: &late{}}
	for round := range max(1, s.Case.Workload.Loops) {
		for n, spec := range s.Case.Workload.Containers {
			if spec.Stays && round > 0 {
				continue
			}
			i := &harness.Instance{
				Name: instanceName(n, round), Spec: spec, Execs: execsOf(spec),
				MustTell: []exit.Observer{exit.ByCRIStatus, exit.ByTaskExit},
			}
			if round > 0 && s.Case.Faultless() {
				i.Called = instanceName(n, 0)
			}
			c.instances = append(c.instances, i)
		}
	}
	return c
}

// instanceName is c0, c1, ... and in further rounds of a crash loop c0-2, c1-2, ...
func instanceName(n, round int) string {
	if round == 0 {
		return fmt.Sprintf("c%d", n)
	}
	return fmt.Sprintf("c%d-%d", n, round+1)
}

// Instances are all containers of the pod, of a crash loop those of all rounds, each that
// stays once.
func (c *Client) Instances() []*harness.Instance { return c.instances }

// Shares is true: all containers of a pod are served by one shim.
func (c *Client) Shares(string) bool { return true }

// learn notes the pid of a container, which CRI does not tell.
func (c *Client) learn(ctx context.Context, i *harness.Instance) {
	cl, _, err := c.Up(ctx)
	if err != nil {
		return
	}
	pid, err := client.PIDOf(ctx, cl, i.ID)
	if err != nil {
		return // it may have exited already
	}
	i.PID = uint32(pid)
	if i == c.instances[0] {
		c.Learn("task", i.ID, pid)
	}
}

// Run goes through the lifecycle and removes the pod. A call that hangs takes the time of
// the lifecycle, and not that of the removal.
func (c *Client) Run(ctx context.Context) error {
	life, cancel := context.WithTimeout(ctx, c.Case.Workload.Deadline)
	defer cancel()
	c.lifecycle(life)
	ctx, cancel = context.WithTimeout(ctx, c.Case.Workload.Deadline)
	defer cancel()
	c.SeeGone(ctx, c.instances)
	err := client.Until(ctx, func(ctx context.Context) error {
		err := c.remove(ctx)
		c.removedAgain = c.removedAgain || err != nil
		return err
	})
	if err == nil && c.Case.Faultless() {
		c.aside(func() { c.repeat(ctx) })
	}
	c.closeLogs()
	c.State(ctx, "deleted")
	return err
}

func (c *Client) lifecycle(ctx context.Context) {
	runs := c.runSandbox(ctx) == nil
	if c.Case.Workload.Loops > 0 {
		c.loop(ctx, runs)
		return
	}
	var live []*harness.Instance
	if runs {
		live = slices.Clone(c.instances)
	}
	c.round(ctx, live, true)
}

// round takes containers through their lives, but does not remove them. What is to happen
// at a state of the workload, or while it runs, happens in the first round.
func (c *Client) round(ctx context.Context, live []*harness.Instance, first bool) {
	state := func(name string) {
		if first {
			c.State(ctx, name)
		}
	}
	live = slices.DeleteFunc(live, func(i *harness.Instance) bool { return !c.made(ctx, i) })
	state("created")
	c.unstarted = nil
	live, late := split(live, func(i *harness.Instance) bool { return !i.Spec.Late })
	live = c.started(ctx, live)
	c.lookAtSandbox(ctx, c.sandbox, false)
	living := slices.DeleteFunc(slices.Clone(live), func(i *harness.Instance) bool { return !c.runsOn(i) })
	for _, i := range living {
		_, _ = c.look(ctx, i) // that nobody answers is for others to say
	}
	if c.Died() {
		c.LookAtLiving(c.ids(slices.Concat(living, c.staying))...)
	}
	state("running")
	ends := live
	if first && c.Case.Workload.Restart && len(live) > 0 {
		c.ending(ctx, live[1:])
		c.killChild(ctx, live[0])
		c.RestartNow(ctx, c.ids(slices.Concat(live[:1], c.staying))...)
		late = c.started(ctx, late)
		ends, live = slices.Concat(live[:1], late), slices.Concat(live, late)
	}
	c.ending(ctx, ends)
	state("exited")
	if c.Died() {
		for _, i := range live { // what a shim could not send it sends again, while its pod is there
			c.AwaitExit(ctx, i.ID)
		}
		c.lookAgain(ctx, live)
	}
	if !c.Quiet {
		c.aside(func() { c.listStates(ctx, slices.Concat(live, c.unstarted)) })
	}
}

// started starts containers. It returns those that have begun.
func (c *Client) started(ctx context.Context, all []*harness.Instance) []*harness.Instance {
	all = slices.DeleteFunc(all, func(i *harness.Instance) bool {
		err := c.start(ctx, i)
		if f := callerr.Of(err); f != nil && f.Answered && !givenUp(f) && !c.again {
			c.unstarted = append(c.unstarted, i)
			c.aside(func() { c.lookAtNotStarted(ctx, i) })
		}
		return err != nil
	})
	c.AwaitStarted(ctx, all)
	return all
}

// split returns those of which it is true, and the others.
func split(all []*harness.Instance, is func(*harness.Instance) bool) (those, others []*harness.Instance) {
	for _, i := range all {
		if is(i) {
			those = append(those, i)
		} else {
			others = append(others, i)
		}
	}
	return those, others
}

// runsOn reports whether a container runs until it is ended.
func (c *Client) runsOn(i *harness.Instance) bool { return i.Spec.Signal != "" || c.Case.Holds(i) }

// ids are those of the sandbox, where there is one, and of containers.
func (c *Client) ids(of []*harness.Instance) (ids []string) {
	if c.sandbox != "" && !c.again {
		ids = append(ids, c.sandbox)
	}
	return append(ids, client.IDs(of)...)
}

// underWay is how long a call is given to be under way.
const underWay = 50 * time.Millisecond

// ending lets containers come to their end. Where nothing is broken, the others are
// stopped while one that ignores SIGTERM is.
func (c *Client) ending(ctx context.Context, all []*harness.Instance) {
	pending := map[*harness.Instance][]func(){} // what is under way until its end is known
	var stops sync.WaitGroup
	waits := c.Case.Faultless() && slices.ContainsFunc(all, func(i *harness.Instance) bool { return i.Spec.IgnoresTerm })
	for _, i := range all {
		c.exec(ctx, i)
		pending[i] = append(pending[i], c.beginHeld(ctx, i), c.attach(ctx, i))
		c.KillChild(ctx, i) // of one that has lived on its child is dead
		c.RestNow(ctx, c.ids(all)...)
		if !waits {
			c.end(ctx, i)
			continue
		}
		stops.Go(func() { c.end(ctx, i) })
		if i.Spec.IgnoresTerm {
			<-time.After(underWay) // that it has a lock is not to be seen
		}
	}
	stops.Wait()
	for _, i := range all {
		c.wait(ctx, i)
		for _, end := range pending[i] {
			end()
		}
	}
}

// call is one call of the client to a containerd that is up.
func (c *Client) call(
	ctx context.Context,
	verb, of string,
	f func(context.Context, api.RuntimeServiceClient) error,
) error {
	return c.Call(ctx, verb, of, func(ctx context.Context) error {
		rt, err := c.rt(ctx)
		if err != nil {
			return err
		}
		return f(ctx, rt)
	})
}

// rt is the service of a containerd that is up.
func (c *Client) rt(ctx context.Context) (api.RuntimeServiceClient, error) {
	_, conn, err := c.Up(ctx)
	if err != nil {
		return nil, err
	}
	return api.NewRuntimeServiceClient(conn), nil
}

// Reuse runs a pod of the same name, which must not be reserved any more, with a first
// container; briefly without one: what could be in the way is the name's reservation.
func (c *Client) Reuse(ctx context.Context, briefly bool) (harness.Use, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Case.Workload.Deadline)
	defer cancel()
	i := &harness.Instance{Name: c.instances[0].Name}
	second := &Client{Session: c.Session, instances: []*harness.Instance{i}, late: c.late, again: true}
	err := second.runSandbox(ctx)
	if err == nil && !briefly {
		if err = errors.Join(second.create(ctx, i), second.start(ctx, i)); err == nil {
			second.end(ctx, i)
			second.wait(ctx, i)
			err = client.CheckReuse(i)
		}
	}
	return harness.Use{}, errors.Join(err, client.Until(ctx, second.remove))
}
