package cri

import (
	"context"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// rounds has the inventories that `inventory` steps take while the pod runs.
type rounds struct {
	began      bool
	number     int
	before     *inventory.Inventory // the previous inventory, or nil if it could not be taken
	notRemoved bool                 // set after a container could not be removed
}

// inventoryStep takes an inventory. The first one is the baseline. Each later one ends
// a round of a crash loop, and must show nothing that the round left.
func (c *Client) inventoryStep(ctx context.Context, _ script.Object, _ string) error {
	r := &c.rounds
	switch {
	case !r.began:
		r.began, r.before = true, c.Inspect(nil).Inventory
		if r.before == nil {
			c.Record.Note("client", "the inventory before the first round failed, "+
				"so this case does not check for leaks between rounds")
		}
		c.note(func(s *harness.CRISeen) { s.Pod = r.before })
	case r.before != nil && !r.notRemoved:
		r.number++
		r.before = c.inspectRound(ctx, r.number, r.before)
	}
	return nil
}

// inspectRound records the inventory after a round, and the pods and containers that CRI
// lists. It returns the inventory, or nil if it could not be taken.
func (c *Client) inspectRound(ctx context.Context, number int, before *inventory.Inventory) *inventory.Inventory {
	r := harness.Round{Number: number}
	c.aside(func() {
		for _, i := range c.living() {
			_, _ = c.requestStatus(ctx, i) // the next call of the client reports an error
		}
		if r.Inspection = c.Inspect(before); r.Inspection.Inventory != nil {
			r.Listed = c.List(ctx)
		}
	})
	c.note(func(s *harness.CRISeen) { s.Rounds = append(s.Rounds, r) })
	return r.Inspection.Inventory
}
