package cri

import (
	"context"
	"fmt"
	"slices"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/client/play"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/callerr"
)

// play plays the script of the workload.
func (c *Client) play(ctx context.Context) {
	p := play.Player{Session: c.Session, Script: c.steps, Verbs: c.verbs(), Around: c.around,
		Late: map[string]bool{"execsync": true, script.Exec: true}}
	if c.Case.Workload.Scripted() && c.Case.Faultless() && !c.NoExtraCalls {
		p.Query = c.query
	}
	p.Play(ctx)
}

// verbs returns the client's function for each verb of package script.
func (c *Client) verbs() map[string]play.Verb {
	return map[string]play.Verb{
		"run":        func(ctx context.Context, _ script.Object, _ string) error { return c.runSandbox(ctx) },
		"create":     c.createStep,
		"start":      c.on(c.startAndAwait),
		"end":        c.on(c.triggerExit),
		"stop":       c.stopStep,
		"wait":       c.on(c.awaitExit),
		"remove":     c.removeStep,
		"oom":        c.on(func(ctx context.Context, i *harness.Instance) error { c.killChild(ctx, i); return nil }),
		"execsync":   c.execStep,
		script.Exec:  c.streamStep,
		"attach":     c.attachStep,
		"write":      c.onStream(c.write),
		"close":      c.onStream(c.closeInput),
		"disconnect": c.onStream(c.disconnect),
		"rotate":     c.on(c.rotate),
		"cancel":     c.cancelStep,
		"soak":       c.soakStep,
		"inventory":  c.inventoryStep,
		"listen":     c.listenStep,
		"restart":    c.restartStep,
		"install":    c.installStep,
	}
}

// on returns a verb. The verb calls the function do with the current container of the
// step's object.
func (c *Client) on(do func(context.Context, *harness.Instance) error) play.Verb {
	return func(ctx context.Context, of script.Object, _ string) error { return do(ctx, c.current(of)) }
}

// current returns the current container of an object.
func (c *Client) current(of script.Object) *harness.Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[of.Container]
}

// createStep creates a container. If a script creates the same object twice, the second
// container has a new record, but the same name and attempt in CRI. The removal of the
// first container must therefore free the name. Only a case with faults uses a new
// name, because a timed-out call may still run in containerd and keep the old name
// reserved.
func (c *Client) createStep(ctx context.Context, of script.Object, _ string) error {
	i := c.current(of)
	if !i.Begun.IsZero() {
		i = c.next(of.Container)
	}
	err := c.createAndCheckName(ctx, i)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.of[of.Container] = i
	}
	return err
}

// next returns an additional container for the n-th place in the workload.
func (c *Client) next(n int) *harness.Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.instances[n]
	c.uses[n]++
	i := c.instance(n, fmt.Sprintf("%s-%d", first.Name, c.uses[n]+1), first.Spec)
	if c.Case.Faultless() {
		i.Called = first.Name
	}
	c.instances = append(c.instances, i)
	return i
}

// startAndAwait starts a container, and waits until its payload runs.
func (c *Client) startAndAwait(ctx context.Context, i *harness.Instance) error {
	err := c.start(ctx, i)
	if err == nil {
		c.AwaitStarted(ctx, []*harness.Instance{i})
		return nil
	}
	if f := callerr.Of(err); f.Answered && !givenUp(f) && i.Started.IsZero() {
		c.mu.Lock()
		c.refused[i] = true
		c.mu.Unlock()
		c.aside(func() { c.noteNotStarted(ctx, i) })
	}
	return err
}

// triggerExit lets a container exit as its configuration says. If the workload has an
// OOM-killed child, ending first lets the child run out of memory.
func (c *Client) triggerExit(ctx context.Context, i *harness.Instance) error {
	c.KillChild(ctx, i) // does nothing if a step has already done it
	if i.Spec.Signal != "" || !c.Case.Workload.Scripted() {
		c.end(ctx, i)
		return nil
	}
	return c.Call(ctx, "end", i.Name, func(ctx context.Context) error { c.end(ctx, i); return nil })
}

// awaitExit waits until a container has exited, and until its attach streams have
// ended.
func (c *Client) awaitExit(ctx context.Context, i *harness.Instance) error {
	c.wait(ctx, i)
	c.detached(ctx, i)
	return nil
}

// markEnding records that the client has begun to end a container.
func (c *Client) markEnding(i *harness.Instance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over[i] = true
}

// markPodEnding records that the client has begun to stop the pod, and with it all
// containers.
func (c *Client) markPodEnding() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	for _, i := range c.of {
		c.over[i] = true
	}
}

// isEnding reports whether the client has begun to end a container.
func (c *Client) isEnding(i *harness.Instance) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over[i]
}

// living returns the containers that run until the client ends them, and that it has not
// begun to end.
func (c *Client) living() (all []*harness.Instance) {
	for _, i := range c.startedNow() {
		if c.runsOn(i) && !c.isEnding(i) {
			all = append(all, i)
		}
	}
	return all
}

// startedNow returns the current containers whose start succeeded.
func (c *Client) startedNow() []*harness.Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.of), func(i *harness.Instance) bool { return i.Started.IsZero() })
}

// notStarted returns the current containers that containerd refused to start.
func (c *Client) notStarted() []*harness.Instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.of), func(i *harness.Instance) bool { return !c.refused[i] })
}

func (c *Client) stopStep(ctx context.Context, of script.Object, _ string) error {
	if of == script.ThePod {
		c.markPodEnding()
		err := client.Until(ctx, func(ctx context.Context) error { return c.stopSandbox(ctx, c.sandboxID()) })
		if err == nil {
			c.awaitStopped(ctx, c.sandboxID())
		}
		return err
	}
	i := c.current(of)
	c.markEnding(i)
	inner, leave := context.WithCancel(ctx)
	defer leave()
	c.setCancel(of, func(context.Context) { leave() })
	return c.stop(inner, i, func() bool { return inner.Err() != nil && ctx.Err() == nil })
}

// setCancel sets the function that a `cancel` step for an object calls. It cancels the
// call in flight.
func (c *Client) setCancel(of script.Object, giveUp func(context.Context)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancels[of] = giveUp
}

func (c *Client) cancelStep(ctx context.Context, of script.Object, _ string) error {
	c.mu.Lock()
	giveUp := c.cancels[of]
	c.mu.Unlock()
	if giveUp != nil {
		giveUp(ctx)
	}
	return nil
}

func (c *Client) removeStep(ctx context.Context, of script.Object, _ string) error {
	if of == script.ThePod {
		c.markPodEnding()
		return client.Until(ctx, func(ctx context.Context) error { return c.removeSandboxItself(ctx, c.sandboxID()) })
	}
	i := c.current(of)
	if c.markEnding(i); i.Reported {
		c.awaitStopped(ctx, i.ID)
	}
	ctx, cancel := c.half(ctx)
	defer cancel()
	err := client.Until(ctx, func(ctx context.Context) error { return ignoreNotFound(c.removeNamed(ctx, i)) })
	if err != nil {
		c.rounds.notRemoved = true
		c.Record.Failed("client", "cannot remove "+i.Name+" while its pod runs", err)
	}
	return err
}

// half returns a context that ends after half of the time that the steps have left. Each
// step of a bystander has a time limit of its own.
func (c *Client) half(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok || c.Beside != nil {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Until(end)/2)
}

func (c *Client) soakStep(ctx context.Context, _ script.Object, long string) error {
	d, _ := time.ParseDuration(long) // it was parsed with the script
	c.Soak(ctx, d, c.ids(c.living())...)
	return nil
}

func (c *Client) restartStep(ctx context.Context, _ script.Object, _ string) error {
	return c.RestartNow(ctx, c.ids(c.living())...)
}

func (c *Client) installStep(ctx context.Context, _ script.Object, programs string) error {
	return c.Call(ctx, script.Install, "", func(context.Context) error {
		return c.Install(script.InstallationOf(programs))
	})
}

// around records the states of the pod and its containers. It does so before the faults
// at the step `mark running`, and after those at `mark exited`.
func (c *Client) around(ctx context.Context, mark string, faults func()) {
	if mark == "running" {
		c.noteSandbox(ctx, c.readySandbox(), false)
		living := c.living()
		for _, i := range living {
			_, _ = c.requestStatus(ctx, i) // the next call of the client reports an error
		}
		if c.ContainerdExited() {
			c.RecordBelongings(c.ids(living)...)
		}
	}
	faults()
	if mark != "exited" {
		return
	}
	all := c.startedNow()
	if c.ContainerdExited() {
		for _, i := range all { // the shim repeats an exit event that was not accepted
			if i.Reported || c.isEnding(i) {
				c.AwaitExit(ctx, i.ID)
			}
		}
		c.requestAgain(ctx, all)
	}
	if !c.NoExtraCalls {
		c.aside(func() { c.listStates(ctx, slices.Concat(all, c.notStarted())) })
	}
}

// listenStep starts another client of the container events, which disconnects at the
// first event. A client that does not read must not delay the other clients. containerd
// buffers more than 100 events for each client (internal/cri/server/container_events.go
// of v2.4.2). listenStep does nothing in a case with faults. It also does nothing if
// the release sends each event to only one client.
func (c *Client) listenStep(ctx context.Context, _ script.Object, _ string) error {
	if !c.Case.Faultless() || !c.BroadcastsCRIEvents {
		return nil
	}
	rt, err := c.rt(ctx)
	if err != nil {
		return err
	}
	ctx, leave := context.WithTimeout(ctx, c.CallTimeout)
	stream, err := rt.GetContainerEvents(ctx, &api.GetEventsRequest{})
	if err != nil {
		leave()
		return nil // the release does not implement GetContainerEvents
	}
	go func() {
		defer leave()
		_, _ = stream.Recv() // the first event, or an error
	}()
	return nil
}
