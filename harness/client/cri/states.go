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
)

// listStates notes the states of the sandbox and of containers as CRI lists them.
func (c *Client) listStates(ctx context.Context, all []*harness.Instance) {
	ctx, cancel := context.WithTimeout(ctx, c.CallTimeout)
	defer cancel()
	rt, err := c.rt(ctx)
	if err != nil {
		return // what it comes to is for others to say
	}
	at := time.Now()
	pods, err := rt.ListPodSandbox(ctx, &api.ListPodSandboxRequest{})
	if err != nil {
		return
	}
	containers, err := rt.ListContainers(ctx, &api.ListContainersRequest{})
	if err != nil {
		return
	}
	answered, states := time.Now(), map[string]string{}
	var labels *criview.Labels
	for _, p := range pods.Items {
		if states[p.Id] = p.State.String(); p.Id == c.sandbox {
			labels = criview.LabelsOf(p)
		}
	}
	listed := map[string]*api.Container{}
	for _, k := range containers.Containers {
		states[k.Id], listed[k.Id] = k.State.String(), k
	}
	state := func(object, id string) harness.CRIState {
		return harness.CRIState{Object: object, ID: id, State: states[id], At: at, Answered: answered}
	}
	for _, pod := range []string{c.sandbox, noPod} {
		c.listOf(ctx, rt, pod, containers.Containers)
	}
	c.note(func(s *harness.CRISeen) {
		if c.sandbox != "" {
			is := state(fact.ASandbox, c.sandbox)
			is.Labels = labels
			s.States = append(s.States, is)
		}
		for _, i := range all {
			is := state(fact.AContainer, i.ID)
			if k := listed[i.ID]; k != nil {
				is.Labels, is.Pod = criview.LabelsOf(k), k.PodSandboxId
				is.Given, is.Created = criview.GivenOfList(k), time.Unix(0, k.CreatedAt)
			}
			s.States = append(s.States, is)
		}
	})
	if c.Case.Faultless() && !c.askedCloser {
		c.askedCloser = true
		c.askCloser(ctx, rt, all)
	}
}

// noPod is an id that no pod has: CRI's are of 64 digits.
const noPod = "shimquake-absent"

// listOf notes which containers CRI lists as those of a pod, and which of those that its
// list of all has are not among them.
func (c *Client) listOf(ctx context.Context, rt api.RuntimeServiceClient, pod string, all []*api.Container) {
	if pod == "" {
		return
	}
	r, err := rt.ListContainers(ctx, &api.ListContainersRequest{Filter: &api.ContainerFilter{PodSandboxId: pod}})
	if f := callerr.Of(err); err != nil {
		if pod != noPod && f.Answered && !givenUp(f) {
			c.note(func(s *harness.CRISeen) {
				s.OfPods = append(s.OfPods, harness.CRIOfPod{Pod: pod, Answered: time.Now(), Err: f})
			})
		}
		return
	}
	of := harness.CRIOfPod{Pod: pod, Containers: idsOf(r.Containers), Answered: time.Now()}
	all = slices.DeleteFunc(slices.Clone(all), func(k *api.Container) bool {
		return k.PodSandboxId != pod || slices.Contains(of.Containers, k.Id)
	})
	if len(all) > 0 { // one may have been removed meanwhile
		again, err := rt.ListContainers(ctx, &api.ListContainersRequest{})
		if err != nil {
			return
		}
		still := idsOf(again.Containers)
		of.Left = slices.DeleteFunc(idsOf(all), func(id string) bool { return !slices.Contains(still, id) })
	}
	c.note(func(s *harness.CRISeen) { s.OfPods = append(s.OfPods, of) })
}

func idsOf(all []*api.Container) (ids []string) {
	for _, k := range all {
		ids = append(ids, k.Id)
	}
	return ids
}
