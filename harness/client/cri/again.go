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

// aside calls f, and records the time as work of the harness. Statements that containerd
// executes in this time do not count as a part of the workload.
func (c *Client) aside(f func()) {
	call := harness.Call{Who: "oracle", Verb: "inventory", At: time.Now()}
	f()
	call.Took = time.Since(call.At)
	c.Record.Call(call)
}

// requestAgain requests all states from a restarted containerd, as kubelet does after
// each restart. The judge compares them with the states before the restart. Then
// requestAgain checks whether containerd still reserves the names of the containers.
func (c *Client) requestAgain(ctx context.Context, all []*harness.Instance) {
	if c.again {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	c.aside(func() {
		c.noteSandbox(ctx, c.readySandbox(), false)
		c.RecordBelongings(c.ids(nil)...)
		unstarted := c.notStarted()
		for _, i := range unstarted {
			c.noteNotStarted(ctx, i)
		}
		for _, i := range all {
			_, _ = c.requestStatus(ctx, i) // the next call of the client reports an error
		}
		for _, i := range slices.Concat(all, unstarted) {
			if !c.NoExtraCalls && !c.Case.Faultless() { // omitted without a fault: a later step may create the container again
				c.tryName(ctx, harness.CRIName{Object: fact.AContainer, Taken: true}, c.createAbsent(i))
			}
		}
	})
}

// Absent is the name of a runtime and of an image that do not exist.
const Absent = "shimquake-absent"

// createAndCheckName creates a container. If containerd responds with an error, it
// checks whether the container's name is free. If it is not, kubelet could never create
// the container, because it retries with the same name.
func (c *Client) createAndCheckName(ctx context.Context, i *harness.Instance) error {
	err := c.create(ctx, i)
	if f := callerr.Of(err); f != nil && f.Answered && !givenUp(f) && !c.Case.Faultless() {
		c.aside(func() { c.tryName(ctx, harness.CRIName{Object: fact.AContainer}, c.createAbsent(i)) })
	}
	return err
}

// givenUp reports whether containerd may still be executing a failed call.
func givenUp(f *callerr.Failed) bool {
	return f.Code == codes.Canceled.String() || f.Code == codes.DeadlineExceeded.String() ||
		f.Code == codes.Unavailable.String()
}

// createAbsent returns a request that creates a container with the name of i, but with an
// image that does not exist.
func (c *Client) createAbsent(i *harness.Instance) func(context.Context, api.RuntimeServiceClient) error {
	return func(ctx context.Context, rt api.RuntimeServiceClient) error {
		_, err := rt.CreateContainer(ctx, &api.CreateContainerRequest{
			PodSandboxId: c.sandboxID(), SandboxConfig: c.config(), Config: &api.ContainerConfig{
				Metadata: &api.ContainerMetadata{Name: i.CRIName()},
				Image:    &api.ImageSpec{Image: Absent},
			},
		})
		return err
	}
}

// runAbsent requests a pod with the name of the client's pod, but with a runtime that
// does not exist.
func (c *Client) runAbsent(ctx context.Context, rt api.RuntimeServiceClient) error {
	_, err := rt.RunPodSandbox(ctx, &api.RunPodSandboxRequest{Config: c.config(), RuntimeHandler: Absent})
	return err
}

// TryNames checks whether the name of the removed pod is free. It must be called before a
// restart of containerd, because containerd keeps the reserved names only in memory.
func (c *Client) TryNames(ctx context.Context) {
	c.tryName(ctx, harness.CRIName{Object: fact.APod}, c.runAbsent)
	if c.removedAgain && !c.ContainerdExited() {
		c.tryContainers(ctx)
	}
}

// tryContainers checks whether the names of the removed containers are free. It needs a
// pod for that. So it only runs if a removal failed and was repeated with success, and if
// containerd was not restarted since.
func (c *Client) tryContainers(ctx context.Context) {
	p := c.another(c.instances...)
	if err := p.runSandbox(ctx); err != nil {
		c.Record.Failed("oracle", "cannot check whether names are free: the pod for the check does not run", err)
	} else {
		for _, i := range c.instances {
			c.tryName(ctx, harness.CRIName{Object: fact.AContainer}, p.createAbsent(i))
		}
	}
	c.Record.Failed("oracle", "removes the pod of the check for free names", client.Until(ctx, p.remove))
}

func (c *Client) tryName(
	ctx context.Context,
	n harness.CRIName,
	ask func(context.Context, api.RuntimeServiceClient) error,
) {
	c.ask(ctx, func(ctx context.Context, rt api.RuntimeServiceClient) {
		n.At = time.Now()
		n.Err = callerr.Of(ask(ctx, rt))
		c.note(func(s *harness.CRISeen) { s.Names = append(s.Names, n) })
	})
}
