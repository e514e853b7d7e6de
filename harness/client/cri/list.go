package cri

import (
	"context"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/poll"
)

// listStopped records the listed state of a stopped sandbox.
func (c *Client) listStopped(ctx context.Context, rt api.RuntimeServiceClient, id string) {
	is := harness.CRIState{Object: fact.ASandbox, ID: id, Stopped: true}
	var err error
	is.State, err = untilNotReady(func(ctx context.Context, rt api.RuntimeServiceClient) (string, error) {
		is.At = time.Now()
		defer func() { is.Answered = time.Now() }()
		return listed(criview.ListSandboxes, id)(ctx, rt)
	})(ctx, rt)
	if err == nil { // else the next call of the client reports a containerd that is down
		c.note(func(s *harness.CRISeen) { s.States = append(s.States, is) })
	}
}

// untilNotReady returns a function that gets the state of a stopped sandbox in a list. It
// repeats the list while the sandbox is ready, because CRI notices its end a few
// milliseconds after StopPodSandbox has succeeded.
func untilNotReady(list stateGetter) stateGetter {
	return func(ctx context.Context, rt api.RuntimeServiceClient) (state string, err error) {
		until, cancel := context.WithTimeout(ctx, stopTimeout)
		defer cancel()
		_ = poll.Until(until, statusPause, func() (bool, error) {
			state, err = list(ctx, rt)
			return err != nil || state != criview.Ready, nil
		})
		return state, err
	}
}
