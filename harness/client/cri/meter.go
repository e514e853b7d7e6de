package cri

import (
	"context"
	"slices"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/criview"
)

// meter asks, where no fault is planned, what containers use, where some have a memory
// limit and stay; raises the limits of those that run, and asks again: CRI tells of a
// limit what the kernel has, so that it shows whether that was done.
func (c *Client) meter(ctx context.Context, all []*harness.Instance) {
	all = slices.DeleteFunc(slices.Clone(all), func(i *harness.Instance) bool {
		return client.Limit(i) == 0 || !i.Spec.Held
	})
	if len(all) == 0 || c.Quiet || c.again || !c.Case.Faultless() {
		return
	}
	c.aside(func() { c.askStats(ctx, all) })
	run, _ := split(all, func(i *harness.Instance) bool { return i.Waited.IsZero() })
	if len(run) == 0 {
		return
	}
	for _, i := range run {
		c.raise(ctx, i)
	}
	c.aside(func() { c.askStats(ctx, all) })
}

// askStats asks what containers use: of all, of each of some alone, and of all again.
func (c *Client) askStats(ctx context.Context, some []*harness.Instance) {
	c.listStats(ctx, "")
	for _, i := range some {
		if i.Waited.IsZero() { // of one that has ended there are none, and an error says so
			c.containerStats(ctx, i.ID)
		}
		c.listStats(ctx, i.ID)
	}
	c.listStats(ctx, "")
}

// raise raises the memory limit of a container, as a kubelet does of a pod that is
// resized while it runs, and asks for its status.
func (c *Client) raise(ctx context.Context, i *harness.Instance) {
	is := harness.CRIRaised{ID: i.ID, Limit: client.Limit(i) + client.Raise, At: time.Now()}
	err := c.call(ctx, "UpdateContainerResources", i.Name,
		func(ctx context.Context, rt api.RuntimeServiceClient) error {
			_, err := rt.UpdateContainerResources(ctx, &api.UpdateContainerResourcesRequest{
				ContainerId: i.ID, Linux: upTo(is.Limit)})
			return err
		})
	if err != nil {
		return // it is among the calls
	}
	c.aside(func() { c.refuse(ctx, i) })
	// Another update says nothing of the memory, and leaves it as it is.
	_ = c.call(ctx, "UpdateContainerResources", i.Name, func(ctx context.Context, rt api.RuntimeServiceClient) error {
		_, err := rt.UpdateContainerResources(ctx, &api.UpdateContainerResourcesRequest{
			ContainerId: i.ID, Linux: &api.LinuxContainerResources{CpuShares: fewShares}})
		return err
	})
	is.Answered = time.Now()
	c.note(func(s *harness.CRISeen) { s.Raised = append(s.Raised, is) })
	_, _ = c.look(ctx, i) // that nobody answers is for others to say
}

// refuse asks for what the kernel refuses. Nothing of it may stay: the next update is of
// something else, and succeeds.
func (c *Client) refuse(ctx context.Context, i *harness.Instance) {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	if rt, err := c.rt(ctx); err == nil { // else it is for others to say
		_, _ = rt.UpdateContainerResources(ctx, &api.UpdateContainerResourcesRequest{
			ContainerId: i.ID, Linux: &api.LinuxContainerResources{CpusetCpus: noCPU}})
	}
}

// noCPU is one that no machine of this world has.
const noCPU = "99999"

// fewShares are half of what a container has by default.
const fewShares = 512

func (c *Client) listStats(ctx context.Context, of string) {
	c.stats(ctx, "ListContainerStats", of,
		func(ctx context.Context, rt api.RuntimeServiceClient) ([]*api.ContainerStats, error) {
			q := &api.ListContainerStatsRequest{}
			if of != "" {
				q.Filter = &api.ContainerStatsFilter{Id: of}
			}
			r, err := rt.ListContainerStats(ctx, q)
			return r.GetStats(), err
		})
}

func (c *Client) containerStats(ctx context.Context, of string) {
	c.stats(ctx, "ContainerStats", of,
		func(ctx context.Context, rt api.RuntimeServiceClient) ([]*api.ContainerStats, error) {
			r, err := rt.ContainerStats(ctx, &api.ContainerStatsRequest{ContainerId: of})
			if err != nil {
				return nil, err
			}
			return []*api.ContainerStats{r.GetStats()}, nil
		})
}

// stats notes an answer of CRI's.
func (c *Client) stats(
	ctx context.Context,
	call, of string,
	ask func(context.Context, api.RuntimeServiceClient) ([]*api.ContainerStats, error),
) {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	rt, err := c.rt(ctx)
	if err != nil {
		return // what it comes to is for others to say
	}
	is := harness.CRIStats{Call: call, Of: of, At: time.Now()}
	all, err := ask(ctx, rt)
	is.Answered = time.Now()
	if err != nil {
		is.Err = callerr.Of(&callerr.Error{Call: call, Err: err})
	}
	for _, k := range all {
		if id := k.GetAttributes().GetId(); !c.Spare(id) {
			is.Told = append(is.Told, usageOf(k))
		}
	}
	c.note(func(s *harness.CRISeen) { s.Stats = append(s.Stats, is) })
}

func usageOf(k *api.ContainerStats) harness.CRIUsage {
	u := harness.CRIUsage{ID: k.GetAttributes().GetId()}
	if a := k.GetAttributes(); a != nil {
		u.Labels = criview.LabelsOf(a)
	}
	if m := k.GetMemory(); m != nil {
		u.WorkingSet, u.Available = m.GetWorkingSetBytes().GetValue(), m.GetAvailableBytes().GetValue()
		u.MemoryAt = time.Unix(0, m.GetTimestamp())
	}
	if p := k.GetCpu(); p != nil {
		u.CPU = time.Duration(p.GetUsageCoreNanoSeconds().GetValue())
		u.CPUAt = time.Unix(0, p.GetTimestamp())
	}
	return u
}
