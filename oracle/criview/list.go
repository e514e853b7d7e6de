package criview

import (
	"context"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/oracle/callerr"
)

// Item is a container or a sandbox in a list.
type Item struct{ ID, State string }

// Lists returns CRI's lists of sandboxes and of containers.
func Lists(ctx context.Context, rt api.RuntimeServiceClient) (sandboxes, containers []Item, err error) {
	if sandboxes, err = ListSandboxes(ctx, rt); err != nil {
		return nil, nil, &callerr.Error{Call: "ListPodSandbox", Err: err}
	}
	if containers, err = ListContainers(ctx, rt); err != nil {
		return nil, nil, &callerr.Error{Call: "ListContainers", Err: err}
	}
	return sandboxes, containers, nil
}

// ListContainers returns CRI's list of containers.
func ListContainers(ctx context.Context, rt api.RuntimeServiceClient) (all []Item, _ error) {
	r, err := rt.ListContainers(ctx, &api.ListContainersRequest{})
	for _, k := range r.GetContainers() {
		all = append(all, Item{k.Id, k.State.String()})
	}
	return all, err
}

// ListSandboxes returns CRI's list of sandboxes.
func ListSandboxes(ctx context.Context, rt api.RuntimeServiceClient) (all []Item, _ error) {
	r, err := rt.ListPodSandbox(ctx, &api.ListPodSandboxRequest{})
	for _, k := range r.GetItems() {
		all = append(all, Item{k.Id, k.State.String()})
	}
	return all, err
}
