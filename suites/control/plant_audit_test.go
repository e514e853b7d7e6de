package control

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/fixtures/world/wire"
	"github.com/shimquake/shimquake/harness/runner"
)

// auditControls are what only an audit tells apart: whose a mount is, by its name.
var auditControls = []control{
	{name: "a network namespace that no pod has, as CNI's are named", leave: bindNetworkAs("cni-planted")},
	{name: "the root file system of a container that is gone", leave: mountRootFS},
	{name: "a network namespace of somebody's own", leave: bindNetworkAs("vpn")},
}

// bindNetworkAs leaves a network namespace under a name, as CNI and `ip netns` do.
func bindNetworkAs(name string) plant {
	return func(ctx context.Context, s runner.Scene) error {
		return run(ctx, s, world.Params{Argv: []string{"/bin/sh", "-c",
			"mkdir -p /run/netns && touch /run/netns/" + name + " && unshare --net=/run/netns/" + name + " true"}})
	}
}

// mountRootFS mounts what a task's bundle has, where the task is gone, and its bundle
// with it: the lazy umount of a busy one was given up.
func mountRootFS(ctx context.Context, s runner.Scene) error {
	target := taskBundles + planted + "/rootfs"
	if err := makeDir(func(runner.Scene) string { return target })(ctx, s); err != nil {
		return err
	}
	return s.World.Mount(ctx, wire.Mount{Source: "shimquake", Target: target, Type: "tmpfs", Flags: unix.MS_NOSUID})
}
