package control

import (
	"context"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/fixtures/world/wire"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/shims/runcshim"
)

// createForCRI makes a container with CRI's label that CRI does not know. A creation in
// CRI leaves such a container if it fails after writing the record.
func createForCRI(ctx context.Context, s runner.Scene) error {
	_, err := s.Client.NewContainer(namespaces.WithNamespace(ctx, "k8s.io"), planted,
		client.WithRuntime(runcshim.Runtime, nil), client.WithNewSpec(),
		client.WithContainerLabels(map[string]string{"io.cri-containerd.kind": "container"}))
	return err
}

// bindNetworkAs leaves a network namespace under a name, as CNI and `ip netns` do.
func bindNetworkAs(name string) plant {
	return func(ctx context.Context, s runner.Scene) error {
		return run(ctx, s, world.Params{Argv: []string{"/bin/sh", "-c",
			"mkdir -p /run/netns && touch /run/netns/" + name + " && unshare --net=/run/netns/" + name + " true"}})
	}
}

// mountRootFS mounts a rootfs without a task and a bundle. containerd leaves such a mount
// if it gives up unmounting a busy rootfs.
func mountRootFS(ctx context.Context, s runner.Scene) error {
	target := taskBundles + planted + "/rootfs"
	if err := makeDir(func(runner.Scene) string { return target })(ctx, s); err != nil {
		return err
	}
	return s.World.Mount(ctx, wire.Mount{Source: "shimquake", Target: target, Type: "tmpfs", Flags: unix.MS_NOSUID})
}
