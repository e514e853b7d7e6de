package cri

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/fact"
)

// aside does what is no part of the workload: what goes on in containerd meanwhile is on
// no path of it.
func (c *Client) aside(f func()) {
	call := harness.Call{Who: "oracle", Verb: "look", At: time.Now()}
	f()
	call.Took = time.Since(call.At)
	c.Record.Call(call)
}

// lookAgain asks a restarted containerd for all that it said before the restart: kubelet
// lists everything after each restart. Then it tries whether the names are still taken.
func (c *Client) lookAgain(ctx context.Context, all []*harness.Instance) {
	if c.again {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	c.aside(func() {
		c.lookAtSandbox(ctx, c.sandbox, false)
		c.RecordBelongings(c.ids(nil)...)
		unstarted := c.unstarted()
		for _, i := range unstarted {
			c.lookAtNotStarted(ctx, i)
		}
		for _, i := range all {
			_, _ = c.look(ctx, i) // that nobody answers is for others to say
		}
		for _, i := range slices.Concat(all, unstarted) {
			if !c.Quiet && !c.Case.Faultless() { // without a fault a script creates it again
				c.tryName(ctx, harness.CRIName{Object: fact.AContainer, Taken: true}, c.createAbsent(i))
			}
		}
	})
}

// Absent is the name of a runtime and of an image that there are not.
const Absent = "shimquake-absent"

// made creates a container. Where containerd answers that it has not, its name must be
// free again, or the container will never be made: kubelet tries again with the same.
func (c *Client) made(ctx context.Context, i *harness.Instance) error {
	err := c.create(ctx, i)
	if f := callerr.Of(err); f != nil && f.Answered && !givenUp(f) && !c.Case.Faultless() {
		c.aside(func() { c.tryName(ctx, harness.CRIName{Object: fact.AContainer}, c.createAbsent(i)) })
	}
	return err
}

// givenUp reports whether a call may go on in containerd although it has failed.
func givenUp(f *callerr.Failed) bool {
	return f.Code == codes.Canceled.String() || f.Code == codes.DeadlineExceeded.String() ||
		f.Code == codes.Unavailable.String()
}

// createAbsent returns a request for a container with the name of another one.
func (c *Client) createAbsent(i *harness.Instance) func(context.Context, api.RuntimeServiceClient) error {
	return func(ctx context.Context, rt api.RuntimeServiceClient) error {
		_, err := rt.CreateContainer(ctx, &api.CreateContainerRequest{
			PodSandboxId: c.sandbox, SandboxConfig: c.config(), Config: &api.ContainerConfig{
				Metadata: &api.ContainerMetadata{Name: i.CRIName()},
				Image:    &api.ImageSpec{Image: Absent},
			},
		})
		return err
	}
}

// runAbsent asks for a pod of the name of the client's.
func (c *Client) runAbsent(ctx context.Context, rt api.RuntimeServiceClient) error {
	_, err := rt.RunPodSandbox(ctx, &api.RunPodSandboxRequest{Config: c.config(), RuntimeHandler: Absent})
	return err
}

// TryNames asks for a pod of the name of the one that was removed, before containerd is
// restarted: the names that it has reserved are in its memory alone.
func (c *Client) TryNames(ctx context.Context) {
	c.tryName(ctx, harness.CRIName{Object: fact.APod}, c.runAbsent)
	if c.removedAgain && !c.Died() {
		c.tryContainers(ctx)
	}
}

// tryContainers asks for containers of the names of those that were removed. That takes a
// pod that runs, so it is asked only where a removal has failed and was done again, and
// containerd has its names from before that.
func (c *Client) tryContainers(ctx context.Context) {
	p := c.another(c.instances...)
	if err := p.runSandbox(ctx); err != nil {
		c.Record.Failed("oracle", "whether names of containers are free is not known: there is no pod to try them in", err)
	} else {
		for _, i := range c.instances {
			c.tryName(ctx, harness.CRIName{Object: fact.AContainer}, p.createAbsent(i))
		}
	}
	c.Record.Failed("oracle", "the pod that names were tried in is removed", client.Until(ctx, p.remove))
}

func (c *Client) tryName(
	ctx context.Context,
	n harness.CRIName,
	ask func(context.Context, api.RuntimeServiceClient) error,
) {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	rt, err := c.rt(ctx)
	if err != nil {
		return // what it comes to is for others to say
	}
	n.At = time.Now()
	n.Err = callerr.Of(ask(ctx, rt))
	c.note(func(s *harness.CRISeen) { s.Names = append(s.Names, n) })
}
