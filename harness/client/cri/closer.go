package cri

import (
	"context"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/poll"
)

// item is what a list says of a container or a sandbox.
type item struct{ id, state string }

func listContainers(ctx context.Context, rt api.RuntimeServiceClient) (all []item, _ error) {
	r, err := rt.ListContainers(ctx, &api.ListContainersRequest{})
	for _, k := range r.GetContainers() {
		all = append(all, item{k.Id, k.State.String()})
	}
	return all, err
}

func listSandboxes(ctx context.Context, rt api.RuntimeServiceClient) (all []item, _ error) {
	r, err := rt.ListPodSandbox(ctx, &api.ListPodSandboxRequest{})
	for _, k := range r.GetItems() {
		all = append(all, item{k.Id, k.State.String()})
	}
	return all, err
}

// listStopped notes the state of a sandbox that is stopped as CRI lists it: CRI learns of
// the end by itself, a few milliseconds after StopPodSandbox has succeeded.
func (c *Client) listStopped(ctx context.Context, rt api.RuntimeServiceClient, id string) {
	is := harness.CRIState{Object: fact.ASandbox, ID: id, Stopped: true}
	until, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	_ = poll.Until(until, statusPause, func() (bool, error) {
		is.At, is.State = time.Now(), ""
		all, err := listSandboxes(ctx, rt)
		is.Answered = time.Now()
		if err != nil {
			id = "" // what it comes to is for others to say
			return true, nil
		}
		for _, k := range all {
			if k.id == id {
				is.State = k.state
			}
		}
		return is.State != criview.Ready, nil
	})
	if id != "" {
		c.note(func(s *harness.CRISeen) { s.States = append(s.States, is) })
	}
}

// repeat stops and removes again what is gone: CRI has each of these calls succeed, as a
// kubelet that did not hear of the first sends it again.
func (c *Client) repeat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	rt, err := c.rt(ctx)
	if err != nil {
		return // what it comes to is for others to say
	}
	answered := func(verb, id string, err error) {
		is := harness.CRIRepeated{Verb: verb, ID: id, At: time.Now()}
		if err != nil {
			is.Err = callerr.Of(&callerr.Error{Call: verb, Err: err})
		}
		c.note(func(s *harness.CRISeen) { s.Repeated = append(s.Repeated, is) })
	}
	if id := c.instances[0].ID; id != "" {
		_, err = rt.StopContainer(ctx, &api.StopContainerRequest{ContainerId: id})
		answered("StopContainer", id, err)
		_, err = rt.RemoveContainer(ctx, &api.RemoveContainerRequest{ContainerId: id})
		answered("RemoveContainer", id, err)
	}
	if id := c.sandbox; id != "" {
		_, err = rt.StopPodSandbox(ctx, &api.StopPodSandboxRequest{PodSandboxId: id})
		answered("StopPodSandbox", id, err)
		_, err = rt.RemovePodSandbox(ctx, &api.RemovePodSandboxRequest{PodSandboxId: id})
		answered("RemovePodSandbox", id, err)
	}
}
