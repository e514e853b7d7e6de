package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/oracle"
	"github.com/shimquake/shimquake/shims/runcshim"
)

// workloader is a client with its workload, by one of the APIs.
type workloader interface {
	// run goes through the lifecycle and then removes everything, again and again until the deadline. Its error is that of the last attempt:
	// the client never got rid of it.
	run(ctx context.Context) error
	// again uses the first id once more, without a fault, and expects the whole lifecycle to work.
	again(ctx context.Context) error
	// againBriefly looks only whether the first id can be had again, without a shim.
	againBriefly(ctx context.Context) error
	// initPID is the init process of the first container ("task") or of the sandbox.
	initPID(who string) (int, error)
	// knownPID is that process where the client knows it without asking containerd, or 0.
	knownPID(who string) int
	// shares says whether a shim of that id serves the workload's other containers too.
	shares(shim string) bool
	// containers are all that the workload has asked for.
	all() []*container
	// observers are those that tell the exit of a container when nothing is broken.
	observers(k *container) []oracle.Observer
}

// container is what the client knows of one.
type container struct {
	name   string // of its files in the world
	id     string // containerd's; "" while the client was told none
	spec   Container
	shim   string // the runtime, where it is not the workload's
	pid    uint32 // of its init, in the world; 0 while the client was told none
	life   oracle.Life
	told   bool      // its exit status was told
	waited time.Time // when Wait has told it; the zero time: it has not
	status uint32    // the last that was told
	retry  bool      // Delete has failed: it must be sent again
}

// taskClient uses containerd's own API, as dockerd does.
type taskClient struct {
	x          *experiment
	containers []*container
}

func newTaskClient(x *experiment) *taskClient {
	t := &taskClient{x: x}
	for i, spec := range x.Workload.Containers {
		id := fmt.Sprintf("c%d", i)
		t.containers = append(t.containers, &container{name: id, id: id, spec: spec, life: oracle.Life{Container: id}})
	}
	return t
}

func (t *taskClient) observers(k *container) []oracle.Observer {
	switch {
	case !t.x.Workload.Restart:
		return []oracle.Observer{oracle.ByWait, oracle.ByDelete}
	case k == t.containers[0]:
		return []oracle.Observer{oracle.ByRestarted, oracle.ByDelete}
	}
	// A containerd that starts deletes tasks without a process (loadShims in v1.6 to v2.4), so that the client finds none to delete.
	return []oracle.Observer{oracle.ByWait}
}

func (t *taskClient) all() []*container { return t.containers }

func (t *taskClient) shares(shim string) bool {
	return t.x.Workload.Grouped && shim == t.containers[0].id
}

func (t *taskClient) initPID(who string) (int, error) {
	if pid := t.knownPID(who); pid != 0 {
		return pid, nil
	}
	return 0, fmt.Errorf("the client was told of no %s process", who)
}

func (t *taskClient) knownPID(who string) int {
	if who == "task" {
		return int(t.containers[0].pid)
	}
	return 0
}

// namespaced is a context of the task workload's containerd namespace.
func namespaced(ctx context.Context) context.Context {
	return namespaces.WithNamespace(ctx, daemon.TaskNamespace)
}

func (t *taskClient) run(ctx context.Context) error {
	ctx = namespaced(ctx)
	ctx, cancel := context.WithTimeout(ctx, t.x.Workload.Deadline)
	defer cancel()
	t.lifecycle(ctx, t.containers, t.x.inject.at)
	var errs []error
	for _, k := range slices.Backward(t.containers) {
		errs = append(errs, t.remove(ctx, k))
	}
	t.x.inject.at(ctx, "deleted")
	return errors.Join(errs...)
}

// lifecycle goes as far as it gets: what fails is left to remove.
func (t *taskClient) lifecycle(ctx context.Context, ks []*container, at func(context.Context, string)) {
	var live []*container
	for _, k := range ks {
		if t.create(ctx, k) == nil {
			live = append(live, k)
		}
	}
	t.x.made(ctx, live)
	at(ctx, "created")
	live = slices.DeleteFunc(live, func(k *container) bool { return t.start(ctx, k) != nil })
	t.x.begun(ctx, live)
	at(ctx, "running")
	ending := func(ks []*container) {
		for _, k := range ks {
			t.end(ctx, k)
		}
		for _, k := range ks {
			t.wait(ctx, k)
		}
	}
	last := live
	if t.x.restarts(ks) && len(live) > 0 {
		ending(live[1:])
		t.x.restart(ctx)
		last = live[:1]
	}
	ending(last)
	at(ctx, "exited")
	for _, k := range slices.Backward(live) {
		t.deleteByAll(ctx, k)
	}
}

// call is one call of the client to a containerd that is up.
func (t *taskClient) call(ctx context.Context, what string, k *container, f func(context.Context, *client.Client) error) error {
	return t.x.caller.call(ctx, what+" "+k.id, func(ctx context.Context) error {
		c, _, err := t.x.daemon.Up(ctx)
		if err != nil {
			return err
		}
		return f(ctx, c)
	})
}

func (t *taskClient) create(ctx context.Context, k *container) error {
	if err := t.x.witness.expect(k.name); err != nil {
		return err
	}
	k.life.Begun = time.Now()
	return t.call(ctx, "create", k, func(ctx context.Context, c *client.Client) error {
		image, err := c.GetImage(ctx, payload.Image)
		if err != nil {
			return err
		}
		made, err := t.container(ctx, c, k, image)
		if err != nil {
			return err
		}
		task, err := made.NewTask(ctx, cio.NullIO)
		if err != nil {
			return err
		}
		k.pid, k.life.Created = task.Pid(), time.Now()
		return nil
	})
}

// container makes the container, without a task.
func (t *taskClient) container(ctx context.Context, c *client.Client, k *container, image client.Image) (client.Container, error) {
	return c.NewContainer(ctx, k.id, client.WithImage(image), client.WithNewSnapshot(k.id, image), client.WithNewSpec(t.spec(k)...),
		client.WithRuntime(t.x.runtime(k), nil))
}

// spec is the OCI specification of a container: the payload with its known end, its record mounted from the world.
func (t *taskClient) spec(k *container) []oci.SpecOpts {
	annotations := map[string]string{}
	if t.x.Workload.Grouped {
		annotations[runcshim.GroupAnnotation] = t.containers[0].id
	}
	return []oci.SpecOpts{
		oci.WithDefaultSpec(),
		oci.WithRootFSPath("rootfs"),
		oci.WithProcessArgs(t.x.command(k)...),
		oci.WithEnv([]string{payload.TruthEnv + "=" + mountedTruth + "/" + k.name + ".truth"}),
		oci.WithMounts([]specs.Mount{{Source: t.x.world.TruthDir(), Destination: mountedTruth, Type: "bind", Options: []string{"rbind", "rw"}}}),
		oci.WithAnnotations(annotations),
	}
}

func (t *taskClient) start(ctx context.Context, k *container) error {
	return t.call(ctx, "start", k, func(ctx context.Context, c *client.Client) error {
		task, err := load(ctx, c, k.id)
		if err != nil {
			return err
		}
		if err := task.Start(ctx); err != nil {
			return err
		}
		k.life.Started = time.Now()
		return nil
	})
}

// load finds the task of an id; a container or a task that is not there gives errdefs.ErrNotFound.
func load(ctx context.Context, c *client.Client, id string) (client.Task, error) {
	k, err := c.LoadContainer(ctx, id)
	if err != nil {
		return nil, err
	}
	return k.Task(ctx, nil)
}

// end lets the payload come to its end, or sends the signal that ends it.
func (t *taskClient) end(ctx context.Context, k *container) {
	if k.spec.Signal == "" {
		t.x.release(ctx, k)
		return
	}
	// A client that was told of an error tries again: the signal may have got lost with a containerd that died.
	err := until(ctx, func(ctx context.Context) error { return t.kill(ctx, k, signals[k.spec.Signal]) })
	if err != nil {
		t.x.timeline.note("client", "gave up killing %s", k.id)
	}
}

func (t *taskClient) kill(ctx context.Context, k *container, sig unix.Signal) error {
	return t.call(ctx, "kill -"+strconv.Itoa(int(sig)), k, func(ctx context.Context, c *client.Client) error {
		task, err := load(ctx, c, k.id)
		if err == nil {
			err = task.Kill(ctx, sig)
		}
		if errdefs.IsNotFound(err) || errdefs.IsFailedPrecondition(err) { // it has ended
			return nil
		}
		if err == nil {
			t.x.ledger.Sent(k.id, "", int(sig), "the client")
		}
		return err
	})
}

// wait learns the exit status, from whichever containerd is up. It gives up when containerd does not know the task any more, or when the deadline
// passes; the oracle judges what that means.
func (t *taskClient) wait(ctx context.Context, k *container) {
	e := Entry{At: time.Now(), Who: "client", What: "wait " + k.id}
	err := until(ctx, func(ctx context.Context) error {
		c, _, err := t.x.daemon.Up(ctx)
		if err != nil {
			return err
		}
		task, err := load(ctx, c, k.id)
		if errdefs.IsNotFound(err) {
			e.Err = "containerd knows no such task"
			return nil
		}
		if err != nil {
			return err
		}
		exits, err := task.Wait(ctx)
		if err != nil {
			return err
		}
		status := <-exits
		if status.Error() != nil {
			return status.Error()
		}
		t.waited(k, status)
		t.x.awaitExit(ctx, k.id)
		e.What += fmt.Sprintf(": %d", status.ExitCode())
		return nil
	})
	if err != nil {
		e.Err = err.Error()
	}
	e.Took = time.Since(e.At)
	t.x.timeline.add(e)
}

// waited notes what Wait has told.
func (t *taskClient) waited(k *container, status client.ExitStatus) {
	observer := oracle.ByWait
	if len(t.x.daemon.Deaths()) > 0 {
		observer = oracle.ByRestarted
	}
	k.waited = time.Now()
	t.told(k, observer, status.ExitCode(), status.ExitTime())
}

func (t *taskClient) told(k *container, by oracle.Observer, status uint32, at time.Time) {
	k.told, k.status = true, status
	t.x.ledger.Observe(oracle.Observation{Container: k.id, Observer: by, Status: status, At: at, PID: int(k.pid)})
}
