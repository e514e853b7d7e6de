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
	subject, err := containerd.Resolve(ctx, release, containerd.Options{Cache: cache, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	shim, err := Build(ctx, cache)
	if err != nil {
		t.Fatal(err)
	}
	images, err := payload.Images(ctx, cache)
	if err != nil {
		t.Fatal(err)
	}
	w, err := world.New(ctx, world.Config{Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	d, err := daemon.Start(ctx, daemon.Params{Subject: subject, World: w, ExtraPath: filepath.Dir(shim)})
	if err != nil {
		t.Fatal(err)
	}
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
	archive, err := os.Open(images)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }() // only read
	imported, err := n.client(t).Import(n.ctx, archive)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range imported {
		names = append(names, i.Name)
	}
	slices.Sort(names)
	want := []string{payload.PauseImage, payload.StopImage, payload.Image}
	if !slices.Equal(names, want) {
		t.Errorf("imported %q, want %q", names, want)
	}
	return n
}

func (n *node) client(t *testing.T) *client.Client {
	t.Helper()
	c, _, err := n.Connect(n.ctx)
	if err != nil {
		t.Fatal(err)
	}
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
	image, err := c.GetImage(n.ctx, payload.Image)
	if err != nil {
		t.Fatal(err)
	}
	if err := image.Unpack(n.ctx, ""); err != nil {
		t.Fatal(err)
	}
	truth := filepath.Join(n.world.TruthDir(), id)
	if err := os.WriteFile(truth, nil, 0o644); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(n.ctx), soon)
		defer cancel()
		// containerd may have restarted since, which closes the container's connection.
		c, _, err := n.Connect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if container, err := c.LoadContainer(ctx, id); err != nil {
			t.Error(err)
		} else if err := container.Delete(ctx, client.WithSnapshotCleanup); err != nil {
			t.Error(err)
		}
	})
	task, err := container.NewTask(n.ctx, cio.NullIO)
	return &job{task, container, truth}, err
}

// ends waits for the exit and deletes the task; it returns the statuses of Wait and of
// Delete.
func (n *node) ends(t *testing.T, j *job) (wait, deleted uint32) {
	t.Helper()
	ctx, cancel := context.WithTimeout(n.ctx, soon)
	defer cancel()
	exit, err := j.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	status := <-exit
	if status.Error() != nil {
		t.Fatal(status.Error())
	}
	gone, err := j.Delete(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return status.ExitCode(), gone.ExitCode()
}

// noShim checks that no process of the fake shim is left in the world: neither shims nor
// tasks.
func (n *node) noShim(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(soon)
	for {
		left := n.processes(t)
		if len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("left in the world: %q", left)
		}
	}
}

// processes returns the command lines of the world's processes besides init and
// containerd.
func (n *node) processes(t *testing.T) []string {
	t.Helper()
	proc := n.world.Proc()
	entries, err := os.ReadDir(proc)
	if err != nil {
		t.Fatal(err)
	}
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
