package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	bootstrap "github.com/containerd/containerd/api/runtime/bootstrap/v1"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/sandbox"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/oci"
	. "github.com/onsi/ginkgo/v2"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/fixtures/world/wire"
	"github.com/shimquake/shimquake/harness/runner"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/shims/runcshim"
)

// planted is the id of all plants.
const planted = "planted"

// bundleDir returns the path of a bundle outside of containerd's state, so that the
// bundle is no leak itself. It ends with the world.
func bundleDir(s runner.Scene) string { return filepath.Join(s.World.TruthDir(), planted) }

// run runs a program in the world to its end.
func run(ctx context.Context, s runner.Scene, p world.Params) error {
	p.Output = filepath.Join(s.World.Dir(), "control.log")
	proc, err := s.World.Start(ctx, p)
	if err != nil {
		return err
	}
	e, err := proc.Exited(ctx)
	if err == nil && e.Code() != 0 {
		text, _ := os.ReadFile(p.Output)
		err = fmt.Errorf("%v exited with %d: %s", p.Argv, e.Code(), text)
	}
	return err
}

// bundle writes an OCI bundle with a process that waits. Its cgroup path is the one that
// a shim would use.
func bundle(ctx context.Context, s runner.Scene) error {
	dir := bundleDir(s)
	if err := os.MkdirAll(filepath.Join(dir, "rootfs"), 0o755); err != nil {
		return err
	}
	cache, err := containerd.CacheDir()
	if err != nil {
		return err
	}
	program, err := payload.Build(ctx, cache)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "rootfs/payload"), text, 0o755); err != nil {
		return err
	}
	spec := oci.Spec{
		Version: specs.Version,
		Root:    &specs.Root{Path: "rootfs"},
		Process: &specs.Process{Args: []string{"/payload", "wait"}, Cwd: "/"},
		Mounts: []specs.Mount{
			{Destination: "/proc", Type: "proc", Source: "proc"},
			{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "mode=755"}},
		},
		Linux: &specs.Linux{
			CgroupsPath: "/" + daemon.TaskNamespace + "/" + planted,
			Namespaces:  []specs.LinuxNamespace{{Type: specs.MountNamespace}},
		},
	}
	if text, err = json.Marshal(spec); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "config.json"), text, 0o644)
}

// startShim starts a real shim of the containerd under test in the same way as
// containerd, but containerd does not know it.
func startShim(ctx context.Context, s runner.Scene) error {
	if err := bundle(ctx, s); err != nil {
		return err
	}
	params, err := proto.Marshal(&bootstrap.BootstrapParams{
		InstanceID: planted, Namespace: daemon.TaskNamespace, ContainerdVersion: s.Subject.Version,
		ContainerdGrpcAddress: s.Address, ContainerdTtrpcAddress: s.Address + ".ttrpc",
		ContainerdBinary: s.Subject.Containerd,
	})
	if err != nil {
		return err
	}
	if s.Subject.Generation < 3 {
		params = nil // shims of 1.x expect the runtime's options, which are optional
	}
	if err := os.WriteFile(filepath.Join(bundleDir(s), "params"), params, 0o644); err != nil {
		return err
	}
	// Its log is a FIFO that containerd reads.
	fifo := filepath.Join(bundleDir(s), "log")
	if err := unix.Mkfifo(fifo, 0o700); err != nil {
		return err
	}
	reader, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	DeferCleanup(reader.Close)
	return run(ctx, s, world.Params{
		Argv: []string{
			"/bin/sh",
			"-c",
			`exec "$@" <params`,
			"sh",
			s.Subject.Shim,
			"-namespace",
			daemon.TaskNamespace,
			"-id",
			planted,
			"-address",
			s.Address,
			"-publish-binary",
			s.Subject.Containerd,
			"start",
		},
		Env: []string{
			"TTRPC_ADDRESS=" + s.Address + ".ttrpc",
			"GRPC_ADDRESS=" + s.Address,
			"PATH=" + s.Subject.PATH(),
			"MAX_SHIM_VERSION=2",
			"NAMESPACE=" + daemon.TaskNamespace,
		},
		Dir: bundleDir(s),
	})
}

// killShim kills the planted shim with SIGKILL, so that it cannot remove its socket.
func killShim(ctx context.Context, s runner.Scene) error {
	return kill(ctx, s, "the planted shim", func(p inventory.Process) bool {
		return p.Shim != nil && p.Shim.ID == planted
	})
}

// kill sends SIGKILL to the first matching process of the world.
func kill(ctx context.Context, s runner.Scene, what string, is func(inventory.Process) bool) error {
	all, err := inventory.Processes(s.Scene)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, is)
	if i < 0 {
		return fmt.Errorf("%s is not there", what)
	}
	return s.World.Signal(ctx, signal.Identity{PID: all[i].PID, Start: all[i].Start}, unix.SIGKILL)
}

// createByRunc makes a container with runc alone. Its init waits to be started, and
// containerd does not know it.
func createByRunc(ctx context.Context, s runner.Scene) error {
	if err := bundle(ctx, s); err != nil {
		return err
	}
	return run(ctx, s, world.Params{
		Argv: []string{
			s.Subject.Runc,
			"--root",
			"/run/containerd/runc/" + daemon.TaskNamespace,
			"create",
			"--bundle",
			bundleDir(s),
			"--pid-file",
			filepath.Join(bundleDir(s), "pid"),
			planted,
		},
		Env: []string{"PATH=" + s.Subject.PATH()}, Dir: bundleDir(s),
	})
}

// abandonRunc is createByRunc with a killed init: state and cgroup stay.
func abandonRunc(ctx context.Context, s runner.Scene) error {
	if err := createByRunc(ctx, s); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(bundleDir(s), "pid"))
	if err != nil {
		return err
	}
	return kill(ctx, s, "runc's init, pid "+string(text), func(p inventory.Process) bool {
		return fmt.Sprint(p.PID) == string(bytes.TrimSpace(text))
	})
}

// startSleep leaves a process without an owner.
func startSleep(ctx context.Context, s runner.Scene) error {
	_, err := s.World.Start(ctx, world.Params{Argv: []string{"/bin/sleep", "1000"}, Output: "/dev/null"})
	return err
}

// makeDir makes a directory in the world.
func makeDir(dir func(runner.Scene) string) plant {
	return func(_ context.Context, s runner.Scene) error { return os.MkdirAll(s.World.HostPath(dir(s)), 0o711) }
}

func mountTmpfs(ctx context.Context, s runner.Scene) error {
	return s.World.Mount(ctx, wire.Mount{Source: planted, Target: "/mnt", Type: "tmpfs"})
}

// makeCgroup makes a group in each hierarchy, at runc's path.
func makeCgroup(_ context.Context, s runner.Scene) error {
	var errs []error
	for _, dir := range s.CgroupDirs {
		errs = append(errs, os.MkdirAll(filepath.Join(dir, daemon.TaskNamespace, planted), 0o755))
	}
	return errors.Join(errs...)
}

func makeFIFO(_ context.Context, s runner.Scene) error {
	return unix.Mkfifo(filepath.Join(s.World.FIFODir(), planted+"-stdout"), 0o600)
}

// inNamespace returns the context for containerd's API.
func inNamespace(ctx context.Context) context.Context {
	return namespaces.WithNamespace(ctx, daemon.TaskNamespace)
}

// prepareSnapshot makes an active snapshot that containerd's garbage collection must
// keep: like a leaked container's.
func prepareSnapshot(ctx context.Context, s runner.Scene) error {
	_, err := s.Client.SnapshotService("overlayfs").Prepare(inNamespace(ctx), planted, "",
		snapshots.WithLabels(kept))
	return err
}

func createLease(ctx context.Context, s runner.Scene) error {
	_, err := s.Client.LeasesService().Create(inNamespace(ctx))
	return err
}

// createContainer makes a container without a task and without a snapshot.
func createContainer(ctx context.Context, s runner.Scene) error {
	_, err := s.Client.NewContainer(
		inNamespace(ctx),
		planted,
		client.WithRuntime(runcshim.Runtime, nil),
		client.WithNewSpec(),
	)
	return err
}

func createSandbox(ctx context.Context, s runner.Scene) error {
	_, err := s.Client.SandboxStore().Create(
		inNamespace(ctx),
		sandbox.Sandbox{ID: planted, Runtime: sandbox.RuntimeOpts{Name: runcshim.Runtime}},
	)
	return err
}

// startTask runs a container and leaves it.
func startTask(ctx context.Context, s runner.Scene) error {
	ctx = inNamespace(ctx)
	image, err := s.Client.GetImage(ctx, payload.Image)
	if err != nil {
		return err
	}
	c, err := s.Client.NewContainer(
		ctx,
		planted,
		client.WithImage(image),
		client.WithNewSnapshot(planted, image),
		client.WithRuntime(runcshim.Runtime, nil),
		client.WithNewSpec(
			oci.WithDefaultSpec(),
			oci.WithRootFSPath("rootfs"),
			oci.WithProcessArgs(payload.Program, "wait"),
		),
	)
	if err != nil {
		return err
	}
	task, err := c.NewTask(ctx, cio.NullIO)
	if err != nil {
		return err
	}
	return task.Start(ctx)
}
