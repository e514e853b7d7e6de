package runcshim_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sandbox "github.com/containerd/containerd/api/runtime/sandbox/v1"
	task "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/oci"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/shims/runcshim"
)

// The methods with names in points are exactly the methods of the API.
func TestMethodsAreThoseOfTheAPI(t *testing.T) {
	got := map[string]bool{}
	for _, name := range failpoints.Methods {
		if !strings.HasPrefix(name, "Events.") { // the shim only calls these
			got[name] = true
		}
	}
	for _, file := range []protoreflect.FileDescriptor{
		task.File_runtime_task_v3_shim_proto, sandbox.File_runtime_sandbox_v1_sandbox_proto,
	} {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				name := string(service.Name()) + "." + string(service.Methods().Get(j).Name())
				if !got[name] {
					t.Errorf("%s has no point", name)
				}
				delete(got, name)
			}
		}
	}
	for name := range got {
		t.Errorf("%s is not in the API", name)
	}
}

// TestWovenReleases runs a container on each release. It breaks a call in its shim, a
// call in its daemon, and the connection between them.
func TestWovenReleases(t *testing.T) {
	must.TakeLong(t, "builds every release")
	must.SkipIf(t, errors.Join(world.Check(), world.Needs("devices")))
	releases := containerd.ReleasesToTest()
	cache := must.Get(containerd.CacheDir())(t)
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			subject := must.Get(containerd.Resolve(t.Context(), release, containerd.Options{Log: t.Output()}))(t)
			testWoven(t, subject, cache)
		})
	}
}

var plan = failpoints.Plan{
	failpoints.Error("rpc:shim:Task.Start:entry", 1, "broken in the shim"),
	failpoints.Error("rpc:containerd:Task.Delete:exit", 1, "broken in the daemon"),
	failpoints.Once("rpc:shim:Task.Pids:entry", term.Close),
}

func testWoven(t *testing.T, s *containerd.Subject, cache string) {
	ctx, cancel := context.WithTimeout(namespaces.WithNamespace(t.Context(), daemon.TaskNamespace), time.Minute)
	defer cancel()
	controller, c := node(ctx, t, s, cache)

	first := create(ctx, t, c, "c1", "exit", "7")
	exits, err := first.Wait(ctx)
	must.Succeed(t, err)
	must.FailWith(t, first.Start(ctx), "broken in the shim", "start")
	must.Succeed(t, first.Start(ctx), "start again")
	if status := <-exits; status.ExitCode() != 7 || status.Error() != nil {
		t.Errorf("wait: %+v, want exit status 7", status)
	}
	_, err = first.Delete(ctx)
	must.FailWith(t, err, "broken in the daemon", "delete")

	second := create(ctx, t, c, "c2", "wait")
	must.Succeed(t, second.Start(ctx))
	_, err = second.Pids(ctx)
	must.FailWith(t, err, "closed", "pids over a connection that the shim closes")

	for i, f := range plan {
		must.Equal(t, controller.Fired(i), 1, "firings of", f)
	}
	must.Succeed(t, controller.Err())
	checkHits(t, controller.Hits())
}

// checkHits requires both sides of a successful call, with the container's id and the
// reply's facts.
func checkHits(t *testing.T, hits []failpoints.Hit) {
	t.Helper()
	for _, point := range []string{
		"rpc:containerd:Task.Create:entry", "rpc:shim:Task.Create:entry",
		"rpc:shim:Task.Create:exit", "rpc:containerd:Task.Create:exit",
	} {
		i := slices.IndexFunc(hits, func(h failpoints.Hit) bool { return h.Point == point && h.ID == "c1" })
		if i < 0 {
			t.Errorf("no hit of %s for c1", point)
			continue
		}
		if point == "rpc:shim:Task.Create:exit" && hits[i].ReplyPID == 0 {
			t.Errorf("%s: no pid in %+v", point, hits[i])
		}
	}
}

// node returns a containerd in a world, with the armed plan and the payload's images.
func node(
	ctx context.Context,
	t *testing.T,
	s *containerd.Subject,
	cache string,
) (*failpoints.Controller, *client.Client) {
	t.Helper()
	root := must.Get(daemon.Template(ctx, s, cache))(t)
	w := must.Get(world.New(ctx, world.Config{Cache: cache}))(t)
	t.Cleanup(func() { must.Succeed(t, w.Close()) })
	must.Succeed(t, daemon.FillRoot(t.Context(), w, root))
	socket := filepath.Join(w.Dir(), "probes.sock")
	controller := must.Get(failpoints.Listen(socket, plan, nil))(t)
	t.Cleanup(func() { _ = controller.Close() })
	d := must.Get(daemon.Start(ctx,
		daemon.Params{Subject: s, World: w, Env: []string{probe.SocketEnv + "=" + socket}}))(t)
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(w.HostPath(d.Log()))
			t.Logf("%s\nhits: %s", text, points(controller.Hits()))
		}
		d.Close()
	})
	c, _, err := d.Connect(ctx)
	must.Succeed(t, err)
	return controller, c
}

func points(hits []failpoints.Hit) string {
	var b strings.Builder
	for _, h := range hits {
		fmt.Fprintln(&b, h.Point, h.ID, h.Did, h.Err)
	}
	return b.String()
}

func create(ctx context.Context, t *testing.T, c *client.Client, id string, args ...string) client.Task {
	t.Helper()
	image := must.Get(c.GetImage(ctx, payload.Image))(t)
	container := must.Get(c.NewContainer(ctx, id, client.WithImage(image), client.WithNewSnapshot(id, image),
		client.WithRuntime(runcshim.Runtime, nil), client.WithNewSpec(oci.WithDefaultSpec(), oci.WithRootFSPath("rootfs"),
			oci.WithProcessArgs(append([]string{payload.Program}, args...)...))))(t)
	made := must.Get(container.NewTask(ctx, cio.NullIO))(t)
	t.Cleanup(func() { _ = made.Kill(context.WithoutCancel(ctx), unix.SIGKILL) }) // or the end of the world
	return made
}
