package task

import (
	"context"
	"slices"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types/runc/options"
	tasktypes "github.com/containerd/containerd/api/types/task"
	"github.com/containerd/typeurl/v2"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
)

// listPatience is how long who was broken may take to answer: the time of a lifecycle is
// that of its own calls.
const listPatience = 5 * time.Second

// listPIDs asks for the processes of a container that stays until the harness has done
// its part, while it runs and when it has ended. It is no call of the workload, and takes
// a run of runc: what ends by itself is not asked about. Where a statement is armed, or
// the call itself, nothing is: their hits are counted.
func (c *Client) listPIDs(ctx context.Context, i *harness.Instance) {
	counts := func(f failpoints.Fault) bool { return f.At.Kind == failpoints.Stmt || f.At.What == "Task.Pids" }
	stays := i.Spec.Stdin > 0 || c.Case.Holds(i.Spec)
	if !stays || c.Quiet || c.Case.Workload.Fakeshim != "" || slices.ContainsFunc(c.Case.Plan, counts) {
		return
	}
	is := harness.PIDs{At: time.Now(), Ended: !i.Waited.IsZero(), Before: c.PIDs(i.ID)}
	patience := c.CallTimeout
	if !c.Case.Faultless() {
		patience = min(patience, listPatience)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cl, _, err := c.Up(ctx)
	if err == nil {
		var r *tasks.ListPidsResponse
		if r, err = cl.TaskService().ListPids(ctx, &tasks.ListPidsRequest{ContainerID: i.ID}); err == nil {
			is.OfExecs = []harness.ExecPID{}
			for _, p := range r.Processes {
				is.Told = append(is.Told, int(p.Pid))
				if exec := execOf(p); exec != "" {
					is.OfExecs = append(is.OfExecs, harness.ExecPID{ID: exec, PID: int(p.Pid)})
				}
			}
			slices.Sort(is.Told)
		}
	}
	is.Err, is.After = callerr.Of(err), c.PIDs(i.ID)
	c.Record.Call(harness.Call{
		Who: "oracle", Verb: "look", Of: i.ID, At: is.At, Took: time.Since(is.At), Err: is.Err})
	i.PIDs = append(i.PIDs, is)
}

// execOf is the exec that ListPids calls a process one of; "": of none.
func execOf(p *tasktypes.ProcessInfo) string {
	what, err := typeurl.UnmarshalAny(p.Info)
	if err != nil {
		return "" // a type that this program does not know tells of none
	}
	details, _ := what.(*options.ProcessDetails)
	return details.GetExecID()
}
