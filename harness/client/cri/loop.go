package cri

import (
	"context"
	"slices"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// loop creates, runs and removes the pod's containers again and again while the pod lives
// on, as kubelet does with containers that crash, and looks at what each round has left.
// Those that stay run from before the first round until after the last.
//
// Each round uses the names of the one before, down to the attempt, as kubelet does when
// it finds no status of an older one: that the name is free again is part of the removal.
// Where a fault is planned each has names of its own: a call that was given up may go on
// in containerd, and keep its name as long.
func (c *Client) loop(ctx context.Context, runs bool) {
	if !runs {
		c.round(ctx, nil, true)
		return
	}
	turns, staying := c.turns()
	c.staying = c.begin(ctx, staying)
	c.rounds(ctx, turns)
	ends := c.staying
	c.staying = nil
	c.ending(ctx, ends)
	for _, i := range ends {
		if i.Reported {
			c.awaitStopped(ctx, i.ID)
		}
	}
}

// turns are the containers of each round, and those that stay through all of them.
func (c *Client) turns() (turns [][]*harness.Instance, staying []*harness.Instance) {
	staying, others := split(c.instances, func(i *harness.Instance) bool { return i.Spec.Stays })
	return slices.Collect(slices.Chunk(others, len(others)/c.Case.Workload.Loops)), staying
}

// begin makes and starts containers that are to stay. It returns those that run.
func (c *Client) begin(ctx context.Context, all []*harness.Instance) []*harness.Instance {
	return c.started(ctx, slices.DeleteFunc(all, func(i *harness.Instance) bool { return !c.made(ctx, i) }))
}

// rounds goes through the rounds of a crash loop.
func (c *Client) rounds(ctx context.Context, turns [][]*harness.Instance) {
	before := c.Look(nil).Inventory
	if before == nil {
		c.Record.Note("client", "what there was before the first round is not known: what rounds leave is not looked at")
	}
	c.note(func(s *harness.CRISeen) { s.Pod = before })
	for round, all := range turns {
		leave := func() {}
		if round == 1 { // by then containerd was restarted, where it is
			leave = c.leaveEvents(ctx)
		}
		c.round(ctx, slices.Clone(all), round == 0)
		for _, i := range all {
			if i.Reported {
				c.awaitStopped(ctx, i.ID)
			}
		}
		leave()
		if err := c.clear(ctx); err != nil {
			c.Record.Failed("client", "the containers of a round cannot be removed while their pod lives on", err)
			return
		}
		if before != nil {
			before = c.lookAtRound(ctx, round+1, before)
		}
	}
}

// leaveEvents listens, where no fault is planned, to the events of containers, and goes
// away when it was told of one: nobody else may wait for who does not read any more. More
// than 100 events for each client are held back (internal/cri/server/container_events.go
// of v2.4.2). There containerd sees that it is gone when it has the next event for it: it
// must have left, which leave sees to, before the last of a round.
func (c *Client) leaveEvents(ctx context.Context) (leave func()) {
	none := func() {}
	if !c.Case.Faultless() || !c.TellsAll || c.again {
		return none
	}
	rt, err := c.rt(ctx)
	if err != nil {
		return none // what it comes to is for others to say
	}
	ctx, leave = context.WithTimeout(ctx, c.CallTimeout)
	stream, err := rt.GetContainerEvents(ctx, &api.GetEventsRequest{})
	if err != nil {
		leave() // a release that has no such events
		return none
	}
	go func() {
		defer leave()
		_, _ = stream.Recv() // the first that it is told shows that it listens
	}()
	return leave
}

// clear removes the containers of a round. Those that cannot be removed within half of
// the client's time are removed with their pod.
func (c *Client) clear(ctx context.Context) error {
	ctx, cancel := half(ctx)
	defer cancel()
	if len(c.staying) > 0 {
		return client.Until(ctx, c.removeOthers)
	}
	return client.Until(ctx, func(ctx context.Context) error { return c.removeContainers(ctx, c.Spare) })
}

// half is a context that ends with half of the time that is left.
func half(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Until(end)/2)
}

// lookAtRound looks at what a round has left, and at what CRI lists of it. It returns
// what there is, or nil where nobody could look.
func (c *Client) lookAtRound(ctx context.Context, number int, before *inventory.Inventory) *inventory.Inventory {
	r := harness.Round{Number: number}
	c.aside(func() {
		for _, i := range c.staying {
			_, _ = c.look(ctx, i) // that nobody answers is for others to say
		}
		if r.Look = c.Look(before); r.Look.Inventory != nil {
			r.Listed = c.List(ctx)
		}
	})
	c.note(func(s *harness.CRISeen) { s.Rounds = append(s.Rounds, r) })
	return r.Look.Inventory
}
