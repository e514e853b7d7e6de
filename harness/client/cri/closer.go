package cri

import (
	"context"
	"slices"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/poll"
)

// askCloser asks what no fault is needed to see the errors of, and only cases without one
// are asked: the lists of some of what there is, and whether the name of a container's
// next attempt is free.
func (c *Client) askCloser(ctx context.Context, rt api.RuntimeServiceClient, all []*harness.Instance) {
	pod := []selector{{fact.FieldID, noPod}, {fact.FieldLabels, Absent}, {fact.FieldState, criview.Ready},
		{fact.FieldState, criview.NotReady}, {fact.FieldID, c.sandbox}, {fact.FieldLabels, harness.PodName}}
	c.listBy(ctx, rt, fact.ASandbox, pod)
	some := []selector{{fact.FieldID, noPod}, {fact.FieldLabels, Absent}, {fact.FieldState, criview.Running},
		{fact.FieldState, criview.Exited}}
	if len(all) > 0 {
		some = append(some, selector{fact.FieldID, all[0].ID}, selector{fact.FieldLabels, all[0].Name})
		c.tryName(ctx, harness.CRIName{Object: fact.AContainer}, c.createAbsent(all[0], 1))
	}
	c.listBy(ctx, rt, fact.AContainer, some)
}

// selector is the value of one field by which a list is asked for; the zero selector asks
// for all.
type selector struct{ field, value string }

// item is what a list says of a container or a sandbox.
type item struct{ id, state, label string }

func (s selector) selects(k item) bool {
	return s.value == map[string]string{
		fact.FieldID: k.id, fact.FieldState: k.state, fact.FieldLabels: k.label}[s.field]
}

// listBy notes what CRI lists by selectors, and compares it with its lists of all.
func (c *Client) listBy(ctx context.Context, rt api.RuntimeServiceClient, object string, all []selector) {
	list := listContainers
	if object == fact.ASandbox {
		list = listSandboxes
	}
	before, err := list(ctx, rt, selector{})
	if err != nil {
		return // what it comes to is for others to say
	}
	for _, s := range all {
		some, err := list(ctx, rt, s)
		is := harness.CRIFiltered{Object: object, Field: s.field, Value: s.value, Answered: time.Now(),
			Err: callerr.Of(err)}
		after, failed := list(ctx, rt, selector{})
		if failed != nil {
			return
		}
		if err == nil {
			is.Left, is.Others = s.compare(some, before, after)
		}
		c.note(func(seen *harness.CRISeen) { seen.Filtered = append(seen.Filtered, is) })
		before = after
	}
}

// compare says what a list by the selector leaves out, and what it must not have, of what
// is the same in the lists of all from before and after it.
func (s selector) compare(some, before, after []item) (left, others []string) {
	for _, k := range before {
		if !slices.Contains(after, k) {
			continue
		}
		switch has := slices.ContainsFunc(some, func(o item) bool { return o.id == k.id }); {
		case s.selects(k) && !has:
			left = append(left, k.id)
		case !s.selects(k) && has:
			others = append(others, k.id)
		}
	}
	return left, others
}

func listContainers(ctx context.Context, rt api.RuntimeServiceClient, s selector) (all []item, _ error) {
	var f *api.ContainerFilter
	switch s.field {
	case fact.FieldID:
		f = &api.ContainerFilter{Id: s.value}
	case fact.FieldState:
		state := api.ContainerState(api.ContainerState_value[s.value])
		f = &api.ContainerFilter{State: &api.ContainerStateValue{State: state}}
	case fact.FieldLabels:
		f = &api.ContainerFilter{LabelSelector: map[string]string{criview.Label: s.value}}
	}
	r, err := rt.ListContainers(ctx, &api.ListContainersRequest{Filter: f})
	for _, k := range r.GetContainers() {
		all = append(all, item{k.Id, k.State.String(), k.Labels[criview.Label]})
	}
	return all, err
}

func listSandboxes(ctx context.Context, rt api.RuntimeServiceClient, s selector) (all []item, _ error) {
	var f *api.PodSandboxFilter
	switch s.field {
	case fact.FieldID:
		f = &api.PodSandboxFilter{Id: s.value}
	case fact.FieldState:
		state := api.PodSandboxState(api.PodSandboxState_value[s.value])
		f = &api.PodSandboxFilter{State: &api.PodSandboxStateValue{State: state}}
	case fact.FieldLabels:
		f = &api.PodSandboxFilter{LabelSelector: map[string]string{criview.Label: s.value}}
	}
	r, err := rt.ListPodSandbox(ctx, &api.ListPodSandboxRequest{Filter: f})
	for _, k := range r.GetItems() {
		all = append(all, item{k.Id, k.State.String(), k.Labels[criview.Label]})
	}
	return all, err
}

// listStopped notes the state of a sandbox that is stopped as CRI lists it, and by which
// states it does: it learns of the end by itself, a few milliseconds after StopPodSandbox
// has succeeded.
func (c *Client) listStopped(ctx context.Context, rt api.RuntimeServiceClient, id string) {
	is := harness.CRIState{Object: fact.ASandbox, ID: id, Stopped: true}
	until, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	_ = poll.Until(until, statusPause, func() (bool, error) {
		is.At, is.State = time.Now(), ""
		all, err := listSandboxes(ctx, rt, selector{})
		is.Answered = time.Now()
		if err != nil {
			id = "" // what it comes to is for others to say
			return true, nil
		}
		for _, k := range all {
			if k.id == id {
				is.State = k.state
			}
		}
		return is.State != criview.Ready, nil
	})
	if id != "" {
		c.note(func(s *harness.CRISeen) { s.States = append(s.States, is) })
		c.listBy(ctx, rt, fact.ASandbox,
			[]selector{{fact.FieldState, criview.Ready}, {fact.FieldState, criview.NotReady}})
	}
}

// repeat stops and removes again what is gone: CRI has each of these calls succeed, as a
// kubelet that did not hear of the first sends it again.
func (c *Client) repeat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	rt, err := c.rt(ctx)
	if err != nil {
		return // what it comes to is for others to say
	}
	answered := func(verb, id string, err error) {
		is := harness.CRIRepeated{Verb: verb, ID: id, At: time.Now()}
		if err != nil {
			is.Err = callerr.Of(&callerr.Error{Call: verb, Err: err})
		}
		c.note(func(s *harness.CRISeen) { s.Repeated = append(s.Repeated, is) })
	}
	if id := c.instances[0].ID; id != "" {
		_, err = rt.StopContainer(ctx, &api.StopContainerRequest{ContainerId: id})
		answered("StopContainer", id, err)
		_, err = rt.RemoveContainer(ctx, &api.RemoveContainerRequest{ContainerId: id})
		answered("RemoveContainer", id, err)
	}
	if id := c.sandbox; id != "" {
		_, err = rt.StopPodSandbox(ctx, &api.StopPodSandboxRequest{PodSandboxId: id})
		answered("StopPodSandbox", id, err)
		_, err = rt.RemovePodSandbox(ctx, &api.RemovePodSandboxRequest{PodSandboxId: id})
		answered("RemovePodSandbox", id, err)
	}
}
