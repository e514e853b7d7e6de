package cri

import (
	"context"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
)

// listStates records the states of the ready sandbox and of these containers in CRI's
// lists.
func (c *Client) listStates(ctx context.Context, all []*harness.Instance) {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	rt, err := c.rt(ctx)
	if err != nil {
		return // ignored: the client's next call reports a containerd that is down
	}
	at, sandbox := time.Now(), c.readySandbox()
	pods, err := rt.ListPodSandbox(ctx, &api.ListPodSandboxRequest{})
	if err != nil {
		return
	}
	containers, err := rt.ListContainers(ctx, &api.ListContainersRequest{})
	if err != nil {
		return
	}
	answered, states := time.Now(), map[string]string{}
	for _, p := range pods.Items {
		states[p.Id] = p.State.String()
	}
	for _, k := range containers.Containers {
		states[k.Id] = k.State.String()
	}
	state := func(object, id string) harness.CRIState {
		return harness.CRIState{Object: object, ID: id, State: states[id], At: at, Answered: answered}
	}
	c.note(func(s *harness.CRISeen) {
		if sandbox != "" {
			s.States = append(s.States, state(fact.ASandbox, sandbox))
		}
		for _, i := range all {
			s.States = append(s.States, state(fact.AContainer, i.ID))
		}
	})
}
