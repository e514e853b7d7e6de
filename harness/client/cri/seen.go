package cri

import (
	"context"
	"slices"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/criview"
)

// note records an observation for the judge.
func (c *Client) note(change func(*harness.CRISeen)) {
	if !c.again {
		c.Record.CRI(change)
	}
}

// done records that CRI reported the success of a call.
func (c *Client) done(verb, id string) {
	at := time.Now()
	c.note(func(s *harness.CRISeen) { s.Done = append(s.Done, harness.CRIDone{Verb: verb, ID: id, At: at}) })
}

// said records the status of a container. Of equal responses it keeps the first, with
// the time of the last request.
func (c *Client) said(is criview.Status) {
	c.note(func(s *harness.CRISeen) {
		for n := len(s.Statuses) - 1; n >= 0; n-- {
			if s.Statuses[n].ID != is.ID {
				continue
			}
			if s.Statuses[n].Same(is) {
				s.Statuses[n].Asked = is.Asked
				return
			}
			break
		}
		s.Statuses = append(s.Statuses, is)
	})
}

// lookAtNotStarted asks CRI for the status of a container whose start has failed. A
// kubelet uses its exit code to decide whether to make the container anew.
func (c *Client) lookAtNotStarted(ctx context.Context, i *harness.Instance) {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	if _, is, err := c.ask(ctx, i); err == nil { // the client's next call reports an error
		c.note(func(s *harness.CRISeen) { s.NotStarted = append(s.NotStarted, is) })
	}
}

// lookAtSandbox asks for the sandbox's state. It is not a call of the workload: events
// in the pod meanwhile are on the path of the call before.
func (c *Client) lookAtSandbox(ctx context.Context, id string, stopped bool) {
	if id == "" || c.again {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	rt, err := c.rt(ctx)
	if err != nil {
		return // ignored: the next call of the client reports a containerd that is down
	}
	is := harness.SandboxSeen{ID: id, Stopped: stopped, At: time.Now()}
	r, err := rt.PodSandboxStatus(ctx, &api.PodSandboxStatusRequest{PodSandboxId: id})
	is.Answered = time.Now()
	if is.Err = callerr.Of(err); err == nil {
		is.IP = r.GetStatus().GetNetwork().GetIp()
		is.State, is.Created = r.GetStatus().GetState().String(), time.Unix(0, r.GetStatus().GetCreatedAt())
	}
	c.note(func(s *harness.CRISeen) { s.Sandboxes = append(s.Sandboxes, is) })
	if stopped && c.Case.Faultless() {
		c.listStopped(ctx, rt, id)
	}
}

// stopTimeout bounds the time the client waits for the event that a container or a
// sandbox has stopped. CRI sends it a few milliseconds after its response. The judge
// reports a missing event.
const stopTimeout = 2 * time.Second

// awaitStopped waits once for the event that a container or a sandbox has stopped, as a
// kubelet does that relies on events. CRI responds to StopContainer before it sends the
// event (handleContainerExit of v2.4.2). Therefore a client that removes the container
// at once can receive the event of the removal first. A containerd that was started
// meanwhile may not send the event.
func (c *Client) awaitStopped(ctx context.Context, id string) {
	c.mu.Lock()
	awaited := c.awaited[id]
	c.awaited[id] = true
	c.mu.Unlock()
	if c.again || awaited || c.Died() || !heard(c.CRIEvents.Heard(), criview.Started, id) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	c.CRIEvents.Await(ctx, func(h criview.Heard) bool { return heard(h, criview.Stopped, id) || c.Died() })
}

func heard(h criview.Heard, kind, id string) bool {
	return slices.ContainsFunc(h.Events, func(e criview.Event) bool { return e.Type == kind && e.ID == id })
}

// List asks CRI for all sandboxes and containers.
func (c *Client) List(ctx context.Context) *harness.CRIListed {
	l := &harness.CRIListed{At: time.Now()}
	rt, err := c.rt(ctx)
	if err == nil {
		err = list(ctx, rt, l)
	}
	l.Err = callerr.Of(err)
	return l
}

func list(ctx context.Context, rt api.RuntimeServiceClient, into *harness.CRIListed) error {
	pods, err := rt.ListPodSandbox(ctx, &api.ListPodSandboxRequest{})
	if err != nil {
		return &callerr.Error{Call: "ListPodSandbox", Err: err}
	}
	containers, err := rt.ListContainers(ctx, &api.ListContainersRequest{})
	if err != nil {
		return &callerr.Error{Call: "ListContainers", Err: err}
	}
	for _, p := range pods.Items {
		into.Sandboxes = append(into.Sandboxes, p.Id)
	}
	for _, k := range containers.Containers {
		into.Containers = append(into.Containers, k.Id)
	}
	return nil
}
