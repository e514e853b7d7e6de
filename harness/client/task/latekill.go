package task

import (
	"context"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
)

// killLate sends SIGKILL to a container, or to an exec in it, that has ended and is not
// deleted, as by a client that has not heard of the end, while another process has its
// pid. It is no call of the workload.
func (c *Client) killLate(ctx context.Context, i *harness.Instance, exec string, pid uint32, waited time.Time) {
	if !i.Spec.LateKill || pid == 0 || waited.IsZero() || !c.Case.Faultless() {
		return
	}
	end, err := c.StandIn(ctx, int(pid))
	if err != nil {
		c.Record.Problem(harness.ByHarness, err)
		return
	}
	late := harness.LateKill{Of: i.ID, Exec: exec, PID: int(pid), At: time.Now()}
	late.Err = callerr.Of(c.sendKill(ctx, i.ID, exec))
	late.Hit, err = end(ctx)
	c.Record.Problem(harness.ByHarness, err)
	c.Record.Set(func(h *harness.History) { h.LateKills = append(h.LateKills, late) })
}

func (c *Client) sendKill(ctx context.Context, id, exec string) error {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	cl, _, err := c.Up(ctx)
	if err != nil {
		return err
	}
	_, err = cl.TaskService().Kill(ctx, &tasks.KillRequest{
		ContainerID: id, ExecID: exec, Signal: uint32(unix.SIGKILL)})
	return err
}
