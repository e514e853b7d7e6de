package cri

import (
	"context"
	"slices"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
)

// listStates records the states of the ready sandbox and of these containers in CRI's
// lists.
func (c *Client) listStates(ctx context.Context, all []*harness.Instance) {
	c.ask(ctx, func(ctx context.Context, rt api.RuntimeServiceClient) {
		at, sandbox := time.Now(), c.readySandbox()
		pods, containers, err := criview.Lists(ctx, rt)
		if err != nil {
			return
		}
		answered, states := time.Now(), map[string]string{}
		for _, k := range slices.Concat(pods, containers) {
			states[k.ID] = k.State
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
	})
}
