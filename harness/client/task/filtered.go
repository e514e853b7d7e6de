package task

import (
	"context"
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/criview"
)

// listFiltered asks, where no fault is planned, for the containers of one id, and for all
// others: containerd filters them, and its client leaves that to it.
func (c *Client) listFiltered(ctx context.Context) {
	if c.Quiet || !c.Case.Faultless() {
		return
	}
	var made []string
	for _, i := range c.instances {
		if !i.Created.IsZero() {
			made = append(made, i.ID)
		}
	}
	if len(made) == 0 {
		return
	}
	one := made[0]
	c.filtered(ctx, fmt.Sprintf("id==%q", one), []string{one}, made[1:])
	c.filtered(ctx, fmt.Sprintf("id!=%q", one), made[1:], []string{one})
	c.filtered(ctx, fmt.Sprintf("labels.%q==%q", criview.Label, one), []string{one}, made[1:])
}

// filtered notes what containerd lists by a filter: those that it leaves out, and those
// that it was not asked for. What others have beside the workload counts for nothing.
func (c *Client) filtered(ctx context.Context, filter string, want, others []string) {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	cl, _, err := c.Up(ctx)
	if err != nil {
		return // what it comes to is for others to say
	}
	is := harness.Filtered{Filter: filter}
	all, err := cl.ContainerService().List(ctx, filter)
	is.Err = callerr.Of(err)
	var told []string
	for _, k := range all {
		told = append(told, k.ID)
	}
	if err == nil {
		is.Left = slices.DeleteFunc(slices.Clone(want), func(id string) bool { return slices.Contains(told, id) })
		is.Others = slices.DeleteFunc(slices.Clone(others), func(id string) bool { return !slices.Contains(told, id) })
	}
	c.Record.Set(func(h *harness.History) { h.Filtered = append(h.Filtered, is) })
}
