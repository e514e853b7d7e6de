package task

import (
	"context"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
)

// reusePID starts an idle process that has the pid of an exited task or exec. It runs
// until the task or exec is deleted. A signal that a client sends to the task or exec
// must not hit it.
func (c *Client) reusePID(ctx context.Context, of script.Object, _ string) error {
	i, e := c.instance(of), c.execOf(of)
	in := harness.PIDReuse{Of: of.String(), PID: int(i.PID)}
	if of.IsExec() {
		if in.PID = 0; e != nil {
			in.PID = int(e.PID)
		}
	}
	if in.PID == 0 {
		return nil // the process never started
	}
	end, err := c.ReusePID(ctx, in.PID)
	if err != nil {
		c.Record.Problem(harness.ByHarness, err)
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pidReuses[of] = func(ctx context.Context) {
		in.Killed, err = end(ctx)
		c.Record.Problem(harness.ByHarness, err)
		c.Record.Set(func(h *harness.History) { h.PIDReuses = append(h.PIDReuses, in) })
	}
	return nil
}

// endPIDReuse ends the idle process that has the pid of an object, if there is one.
func (c *Client) endPIDReuse(ctx context.Context, of script.Object) {
	c.mu.Lock()
	end := c.pidReuses[of]
	delete(c.pidReuses, of)
	c.mu.Unlock()
	if end != nil {
		end(ctx)
	}
}
