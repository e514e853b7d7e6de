package fakeshim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/poll"
)

// node is a world with a containerd that has the fake shim in its PATH.
type node struct {
	*daemon.Daemon
	world *world.World
	ctx   context.Context // with the namespace
}

func newNode(ctx context.Context, t *testing.T, release string) *node {
	t.Helper()
	const cache = "/var/cache/shimquake"
	subject := must.Get(containerd.Resolve(ctx, release, containerd.Options{Cache: cache, Log: t.Output()}))(t)
	shim := must.Get(Build(ctx, cache))(t)
	images := must.Get(payload.Images(ctx, cache))(t)
	w := must.Get(world.New(ctx, world.Config{Cache: cache}))(t)
	t.Cleanup(func() { must.Succeed(t, w.Close()) })
	d := must.Get(daemon.Start(ctx, daemon.Params{Subject: subject, World: w, ExtraPath: filepath.Dir(shim)}))(t)
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(w.HostPath(d.Log()))
			t.Logf("log of containerd:\n%s", text)
		}
		d.Close()
	})
	n := &node{Daemon: d, world: w, ctx: namespaces.WithNamespace(ctx, "fakeshim")}
	// The images are imported here, and not copied from a template: this also tests the
	// import.
	archive := must.Get(os.Open(images))(t)
	defer func() { _ = archive.Close() }() // only read
	imported := must.Get(n.client(t).Import(n.ctx, archive))(t)
	var names []string
	for _, i := range imported {
		names = append(names, i.Name)
	}
	slices.Sort(names)
	want := []string{payload.PauseImage, payload.StopImage, payload.Image}
	must.Equal(t, names, want, "imported")
	return n
}

func (n *node) client(t *testing.T) *client.Client {
	t.Helper()
	c, _, err := n.Connect(n.ctx)
	must.Succeed(t, err)
	return c
}

// job is a task on the fake shim.
type job struct {
	client.Task
	container client.Container
	truth     string
}

// create makes a container and its task. words are for the payload, behaviour is for the
// shim.
func (n *node) create(t *testing.T, id, words, behaviour string) (*job, error) {
	t.Helper()
	c := n.client(t)
	image := must.Get(c.GetImage(n.ctx, payload.Image))(t)
	must.Succeed(t, image.Unpack(n.ctx, ""))
	truth := filepath.Join(n.world.TruthDir(), id)
	must.Succeed(t, os.WriteFile(truth, nil, 0o644))
	annotations := map[string]string{}
	if behaviour != "" {
		annotations["shimquake.fakeshim"] = behaviour
	}
	container, err := c.NewContainer(
		n.ctx,
		id,
		client.WithNewSnapshot(id, image),
		client.WithRuntime(Runtime, nil),
		// Not oci.WithImageConfig: it would mount the snapshot, whose folders exist only
		// in the world.
		client.WithNewSpec(
			oci.WithProcessArgs(append([]string{payload.Program}, strings.Fields(words)...)...),
			oci.WithAnnotations(annotations),
			oci.WithEnv([]string{payload.TruthEnv + "=" + truth}),
			oci.WithMounts([]specs.Mount{{Destination: truth, Source: truth, Type: "bind", Options: []string{"rbind", "rw"}}}),
		),
	)
	must.Succeed(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(n.ctx), soon)
		defer cancel()
		// containerd may have restarted since, which closes the container's connection.
		c, _, err := n.Connect(ctx)
		must.Succeed(t, err)
		if container, err := c.LoadContainer(ctx, id); err != nil {
			t.Error(err)
		} else if err := container.Delete(ctx, client.WithSnapshotCleanup); err != nil {
			t.Error(err)
		}
	})
	task, err := container.NewTask(n.ctx, cio.NullIO)
	return &job{task, container, truth}, err
}

// ends waits for the exit, deletes the task, and compares the statuses of both.
func (n *node) ends(t *testing.T, j *job, want uint32) {
	t.Helper()
	ctx, cancel := context.WithTimeout(n.ctx, soon)
	defer cancel()
	exit := must.Get(j.Wait(ctx))(t)
	status := <-exit
	must.Succeed(t, status.Error())
	must.Equal(t, status.ExitCode(), want, "Wait says")
	must.Equal(t, must.Get(j.Delete(ctx))(t).ExitCode(), want, "Delete says")
}

// noShim checks that no process of the fake shim is left in the world: neither shims nor
// tasks.
func (n *node) noShim(t *testing.T) {
	t.Helper()
	var left []string
	err := poll.Until(must.Within(t, soon), 2*time.Millisecond, func() (bool, error) {
		left = n.processes(t)
		return len(left) == 0, nil
	})
	must.Succeed(t, err, "left in the world", left)
}

// processes returns the command lines of the world's processes besides init and
// containerd.
func (n *node) processes(t *testing.T) []string {
	t.Helper()
	proc := n.world.Proc()
	entries := must.Get(os.ReadDir(proc))(t)
	var found []string
	for _, e := range entries {
		if strings.Trim(e.Name(), "0123456789") != "" || e.Name() == "1" || e.Name() == fmt.Sprint(n.PID()) {
			continue
		}
		if line, err := os.ReadFile(filepath.Join(proc, e.Name(), "cmdline")); err == nil && len(line) > 0 {
			found = append(found, strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " "))
		}
	}
	return found
}
