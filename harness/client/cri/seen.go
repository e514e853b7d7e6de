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

// note writes down what was seen, for the judge.
func (c *Client) note(change func(*harness.CRISeen)) {
	if !c.again {
		c.Record.CRI(change)
	}
}

// done writes down that CRI said that it has done a call.
func (c *Client) done(verb, id string) {
	at := time.Now()
	c.note(func(s *harness.CRISeen) { s.Done = append(s.Done, harness.CRIDone{Verb: verb, ID: id, At: at}) })
}

// said writes down what CRI says of a container. Of answers that say the same the first
// is kept, with when the last was asked for.
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

// lookAtNotStarted asks what CRI says of a container whose start has failed: by its exit
// code a kubelet decides whether it makes it anew.
func (c *Client) lookAtNotStarted(ctx context.Context, i *harness.Instance) {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	if _, is, err := c.ask(ctx, i); err == nil { // else what it comes to is for others to say
		c.note(func(s *harness.CRISeen) { s.NotStarted = append(s.NotStarted, is) })
	}
}

// lookAtSandbox asks for the sandbox's state. It is no call of the workload: what goes on
// in a pod meanwhile is on the path of the call before.
func (c *Client) lookAtSandbox(ctx context.Context, id string, stopped bool) {
	if id == "" || c.again {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	rt, err := c.rt(ctx)
	if err != nil {
		return // what it comes to is for others to say
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

// stopPatience is how long the client waits for the event that a container or a sandbox
// has stopped. CRI sends it a few milliseconds after it says so. One that does not come
// is the judge's business.
const stopPatience = 2 * time.Second

// awaitStopped waits once for the event that a container or a sandbox has stopped, as a
// kubelet does that goes by events: CRI answers StopContainer before it sends it
// (handleContainerExit of v2.4.2), so that a client that removes at once can hear of the
// removal first. A containerd that was started meanwhile may have none to send.
func (c *Client) awaitStopped(ctx context.Context, id string) {
	c.mu.Lock()
	awaited := c.awaited[id]
	c.awaited[id] = true
	c.mu.Unlock()
	if c.again || awaited || c.Died() || !heard(c.CRIEvents.Heard(), criview.Started, id) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	c.CRIEvents.Await(ctx, func(h criview.Heard) bool { return heard(h, criview.Stopped, id) || c.Died() })
}

func heard(h criview.Heard, kind, id string) bool {
	return slices.ContainsFunc(h.Events, func(e criview.Event) bool { return e.Type == kind && e.ID == id })
}

// List asks CRI what there is.
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
