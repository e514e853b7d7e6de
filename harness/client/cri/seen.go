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

// note records an observation for the judge, except for the client of the second use.
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

// noteStatus records the status of a container. If the previous status of the container
// was equal, noteStatus only updates the time of its request.
func (c *Client) noteStatus(is criview.Status) {
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

// noteNotStarted records CRI's status of a container whose start failed. A kubelet uses
// the exit code in it to decide whether it creates the container again.
func (c *Client) noteNotStarted(ctx context.Context, i *harness.Instance) {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	if _, is, err := c.containerStatus(ctx, i); err == nil { // the client's next call reports an error
		c.note(func(s *harness.CRISeen) { s.NotStarted = append(s.NotStarted, is) })
	}
}

// noteSandbox records the sandbox's state. It is not recorded as a call, so what
// containerd executes meanwhile counts as a part of the call before.
func (c *Client) noteSandbox(ctx context.Context, id string, stopped bool) {
	if id == "" || c.again {
		return
	}
	c.ask(ctx, func(ctx context.Context, rt api.RuntimeServiceClient) {
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
	})
}

// stopTimeout is how long awaitStopped waits. CRI sends the event a few milliseconds
// after its response. The judge reports a missing event.
const stopTimeout = 2 * time.Second

// awaitStopped waits for the event that a container or a sandbox has stopped, as a
// kubelet that relies on events does. In v2.4.2, CRI responds to StopContainer before it
// sends the event (handleContainerExit). A client that removes the container at once can
// therefore receive the event of the removal first. The function does nothing the second
// time for an id. It also does nothing after a restart of containerd, because the event
// may then not come.
func (c *Client) awaitStopped(ctx context.Context, id string) {
	c.mu.Lock()
	awaited := c.awaited[id]
	c.awaited[id] = true
	c.mu.Unlock()
	if c.again || awaited || c.ContainerdExited() || !heard(c.CRIEvents.Heard(), criview.Started, id) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	c.CRIEvents.Await(ctx, func(h criview.Heard) bool { return heard(h, criview.Stopped, id) || c.ContainerdExited() })
}

func heard(h criview.Heard, kind, id string) bool {
	return slices.ContainsFunc(h.Events, func(e criview.Event) bool { return e.Type == kind && e.ID == id })
}

// List returns the ids of all sandboxes and containers that CRI lists.
func (c *Client) List(ctx context.Context) *harness.CRIListed {
	l := &harness.CRIListed{At: time.Now()}
	var sandboxes, containers []criview.Item
	rt, err := c.rt(ctx)
	if err == nil {
		sandboxes, containers, err = criview.Lists(ctx, rt)
	}
	for _, k := range sandboxes {
		l.Sandboxes = append(l.Sandboxes, k.ID)
	}
	for _, k := range containers {
		l.Containers = append(l.Containers, k.ID)
	}
	l.Err = callerr.Of(err)
	return l
}
