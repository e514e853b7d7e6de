package task

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	cgroup1 "github.com/containerd/cgroups/v3/cgroup1/stats"
	cgroup2 "github.com/containerd/cgroups/v3/cgroup2/stats"
	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs/pkg/errgrpc"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle/callerr"
)

// resources is the type of an Update's resources, which are JSON.
const resources = "types.containerd.io/opencontainers/runtime-spec/1/LinuxResources"

// meter asks, where no fault is planned, for the metrics of the containers that have a
// memory limit and stay, raises the limits, and asks again: a shim reads them from the
// kernel, so that they tell whether the Update was done.
func (c *Client) meter(ctx context.Context, live []*harness.Instance) {
	if c.Quiet || !c.Case.Faultless() || c.Case.Workload.Fakeshim != "" {
		return
	}
	limits := map[*harness.Instance]int64{}
	for _, i := range live {
		if i.Spec.Memory > 0 && i.Spec.OOM == "" && c.Case.Holds(i.Spec) {
			limits[i] = client.Limit(i)
		}
	}
	for raised := range 2 {
		for i := range limits {
			if raised > 0 {
				limits[i] += client.Raise
				c.update(ctx, i, limits[i])
			}
			for _, filter := range []string{"", "id==" + i.ID} {
				c.askMetrics(ctx, i, filter, limits[i])
			}
			if c.serves() {
				c.askPage(ctx, i, limits[i])
			}
		}
	}
}

// update sets the memory limit of a container, of which none is swap.
func (c *Client) update(ctx context.Context, i *harness.Instance, limit int64) {
	value, err := json.Marshal(specs.LinuxResources{Memory: &specs.LinuxMemory{Limit: &limit, Swap: &limit}})
	if err != nil {
		return // it is of two numbers
	}
	_ = c.call(ctx, "update", i, func(ctx context.Context, cl *containerd.Client) error { // an error is among the calls
		_, err := cl.TaskService().Update(ctx, &tasks.UpdateTaskRequest{
			ContainerID: i.ID, Resources: &anypb.Any{TypeUrl: resources, Value: value}})
		return errgrpc.ToNative(err)
	})
}

func (c *Client) askMetrics(ctx context.Context, i *harness.Instance, filter string, limit int64) {
	is := harness.Meter{At: time.Now(), Filter: filter, Limit: uint64(limit)}
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	cl, _, err := c.Up(ctx)
	var r *tasks.MetricsResponse
	if err == nil {
		q := &tasks.MetricsRequest{}
		if filter != "" {
			q.Filters = []string{filter}
		}
		r, err = cl.TaskService().Metrics(ctx, q)
		err = errgrpc.ToNative(err)
	}
	for _, m := range r.GetMetrics() {
		if m.ID != i.ID {
			is.Others++
			continue
		}
		told, bad := memoryLimit(m)
		if bad != nil {
			err = bad
		}
		is.Told = append(is.Told, told)
	}
	c.metered(i, is, err)
}

func (c *Client) metered(i *harness.Instance, is harness.Meter, err error) {
	is.Err = callerr.Of(err)
	c.Record.Call(harness.Call{Who: "oracle", Verb: "look", Of: i.ID, At: is.At, Took: time.Since(is.At), Err: is.Err})
	i.Meters = append(i.Meters, is)
}

// memoryLimit is the limit of which a shim tells, in the form of cgroup v1 or v2.
func memoryLimit(m *types.Metric) (uint64, error) {
	kind := m.GetData().GetTypeUrl()
	switch {
	case strings.HasSuffix(kind, "cgroups.v1.Metrics"):
		var v1 cgroup1.Metrics
		err := proto.Unmarshal(m.Data.Value, &v1)
		return v1.GetMemory().GetUsage().GetLimit(), err
	case strings.HasSuffix(kind, "cgroups.v2.Metrics"):
		var v2 cgroup2.Metrics
		err := proto.Unmarshal(m.Data.Value, &v2)
		return v2.GetMemory().GetUsageLimit(), err
	}
	return 0, fmt.Errorf("metrics of an unknown kind %q", kind)
}
