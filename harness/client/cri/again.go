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

// aside calls f outside the workload: events in containerd meanwhile are on no path of
// the workload.
func (c *Client) aside(f func()) {
	call := harness.Call{Who: "oracle", Verb: "inventory", At: time.Now()}
	f()
	call.Took = time.Since(call.At)
	c.Record.Call(call)
}

// lookAgain asks a restarted containerd for all states that it reported before the
// restart: kubelet lists everything after each restart. Then it checks whether the
// names are still taken.
func (c *Client) lookAgain(ctx context.Context, all []*harness.Instance) {
	if c.again {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	c.aside(func() {
		c.lookAtSandbox(ctx, c.sandbox, false)
		c.RecordBelongings(c.ids(nil)...)
		unstarted := c.notStarted()
		for _, i := range unstarted {
			c.lookAtNotStarted(ctx, i)
		}
		for _, i := range all {
			_, _ = c.look(ctx, i) // no response: the next call of the client reports it
		}
		for _, i := range slices.Concat(all, unstarted) {
			if !c.Quiet && !c.Case.Faultless() { // without a fault a script creates it again
				c.tryName(ctx, harness.CRIName{Object: fact.AContainer, Taken: true}, c.createAbsent(i))
			}
		}
	})
}

// Absent is the name of a runtime and of an image that do not exist.
const Absent = "shimquake-absent"

// made creates a container. If containerd reports an error, the name must be free
// again: kubelet tries again with the same name, and would never succeed.
func (c *Client) made(ctx context.Context, i *harness.Instance) error {
	err := c.create(ctx, i)
	if f := callerr.Of(err); f != nil && f.Answered && !givenUp(f) && !c.Case.Faultless() {
		c.aside(func() { c.tryName(ctx, harness.CRIName{Object: fact.AContainer}, c.createAbsent(i)) })
	}
	return err
}

// givenUp reports whether a failed call may continue in containerd.
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

// runAbsent asks for a pod with the name of the client's pod.
func (c *Client) runAbsent(ctx context.Context, rt api.RuntimeServiceClient) error {
	_, err := rt.RunPodSandbox(ctx, &api.RunPodSandboxRequest{Config: c.config(), RuntimeHandler: Absent})
	return err
}

// TryNames asks for a pod with the name of the removed one. It comes before a restart
// of containerd, which holds the reserved names only in memory.
func (c *Client) TryNames(ctx context.Context) {
	c.tryName(ctx, harness.CRIName{Object: fact.APod}, c.runAbsent)
	if c.removedAgain && !c.Died() {
		c.tryContainers(ctx)
	}
}

// tryContainers asks for containers with the names of the removed ones. It needs a
// running pod. It is called only if a removal has failed and was repeated, and
// containerd still holds the names of before.
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
		return // ignored: the client's next call reports a containerd that is down
	}
	n.At = time.Now()
	n.Err = callerr.Of(ask(ctx, rt))
	c.note(func(s *harness.CRISeen) { s.Names = append(s.Names, n) })
}
