package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/containerd/containerd/v2/pkg/namespaces"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/oracle"
)

// criClient uses CRI as kubelet does: it runs a pod, looks at its containers' status until they have exited, stops and removes it; what fails it
// does again.
type criClient struct {
	x          *experiment
	containers []*container
	sandbox    string // id; "" while none is known
}

func newCRIClient(x *experiment) *criClient {
	c := &criClient{x: x}
	for i, spec := range x.Workload.Containers {
		c.containers = append(c.containers, &container{name: fmt.Sprintf("c%d", i), spec: spec})
	}
	return c
}

func (c *criClient) observers(*container) []oracle.Observer {
	return []oracle.Observer{oracle.ByCRIStatus, oracle.ByTaskExit}
}

func (c *criClient) all() []*container { return c.containers }

// shares is true: all containers of a pod are served by one shim.
func (c *criClient) shares(string) bool { return true }

// initPID asks containerd for the pid of a task.
func (c *criClient) initPID(who string) (int, error) {
	if pid := c.knownPID(who); pid != 0 {
		return pid, nil
	}
	id := c.sandbox
	if who == "task" {
		id = c.containers[0].id
	}
	if id == "" {
		return 0, fmt.Errorf("the client was told of no %s", who)
	}
	return c.pid(c.x.ctx, id)
}

func (c *criClient) knownPID(who string) int {
	if who == "task" {
		return int(c.containers[0].pid)
	}
	return 0
}

func (c *criClient) pid(ctx context.Context, id string) (int, error) {
	cl, _, err := c.x.daemon.Up(ctx)
	if err != nil {
		return 0, err
	}
	task, err := load(namespaces.WithNamespace(ctx, daemon.CRINamespace), cl, id)
	if err != nil {
		return 0, err
	}
	return int(task.Pid()), nil
}

func (c *criClient) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.x.Workload.Deadline)
	defer cancel()
	c.lifecycle(ctx)
	err := until(ctx, c.remove)
	c.x.inject.at(ctx, "deleted")
	if err != nil {
		return err
	}
	return nil
}

func (c *criClient) lifecycle(ctx context.Context) {
	live := slices.Clone(c.containers)
	if c.runSandbox(ctx) != nil {
		live = nil
	}
	live = slices.DeleteFunc(live, func(k *container) bool { return c.create(ctx, k) != nil })
	c.x.inject.at(ctx, "created")
	live = slices.DeleteFunc(live, func(k *container) bool { return c.start(ctx, k) != nil })
	c.x.begun(ctx, live)
	c.x.inject.at(ctx, "running")
	if c.x.restarts(c.containers) && len(live) > 0 {
		c.ending(ctx, live[1:])
		c.x.restart(ctx)
		live = live[:1]
	}
	c.ending(ctx, live)
	c.x.inject.at(ctx, "exited")
}

// ending lets containers come to their end.
func (c *criClient) ending(ctx context.Context, ks []*container) {
	for _, k := range ks {
		c.end(ctx, k)
	}
	for _, k := range ks {
		c.wait(ctx, k)
	}
}

// call is one call of the client to a containerd that is up.
func (c *criClient) call(ctx context.Context, what string, f func(context.Context, cri.RuntimeServiceClient) error) error {
	return c.x.caller.call(ctx, what, func(ctx context.Context) error {
		_, conn, err := c.x.daemon.Up(ctx)
		if err != nil {
			return err
		}
		return f(ctx, cri.NewRuntimeServiceClient(conn))
	})
}

// namespaceOptions are those that kubelet asks for, but for the network: a pod on the world's own needs no CNI plugin. Each container is in a PID namespace
// of its own, so that none dies just because the sandbox does.
func namespaceOptions() *cri.NamespaceOption {
	return &cri.NamespaceOption{Network: cri.NamespaceMode_NODE, Pid: cri.NamespaceMode_CONTAINER}
}

// config is the pod's.
func (c *criClient) config() *cri.PodSandboxConfig {
	return &cri.PodSandboxConfig{
		Metadata: &cri.PodSandboxMetadata{Name: "pod", Uid: "shimquake", Namespace: "default"},
		Linux:    &cri.LinuxPodSandboxConfig{SecurityContext: &cri.LinuxSandboxSecurityContext{NamespaceOptions: namespaceOptions()}},
	}
}

func (c *criClient) runSandbox(ctx context.Context) error {
	return c.call(ctx, "RunPodSandbox", func(ctx context.Context, rt cri.RuntimeServiceClient) error {
		r, err := rt.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: c.config()})
		if err == nil {
			c.sandbox = r.PodSandboxId
		}
		return err
	})
}

func (c *criClient) create(ctx context.Context, k *container) error {
	if err := c.x.witness.expect(k.name); err != nil {
		return err
	}
	k.life.Begun = time.Now()
	return c.call(ctx, "CreateContainer "+k.name, func(ctx context.Context, rt cri.RuntimeServiceClient) error {
		r, err := rt.CreateContainer(ctx, &cri.CreateContainerRequest{PodSandboxId: c.sandbox, SandboxConfig: c.config(), Config: &cri.ContainerConfig{
			Metadata: &cri.ContainerMetadata{Name: k.name},
			Image:    &cri.ImageSpec{Image: payload.Image},
			Command:  c.x.command(k),
			Envs:     []*cri.KeyValue{{Key: payload.TruthEnv, Value: []byte(mountedTruth + "/" + k.name + ".truth")}},
			Mounts:   []*cri.Mount{{ContainerPath: mountedTruth, HostPath: c.x.world.TruthDir()}},
			Linux:    &cri.LinuxContainerConfig{SecurityContext: &cri.LinuxContainerSecurityContext{NamespaceOptions: namespaceOptions()}},
		}})
		if err != nil {
			return err
		}
		k.id, k.life.Container = r.ContainerId, r.ContainerId
		return nil
	})
}

func (c *criClient) start(ctx context.Context, k *container) error {
	err := c.call(ctx, "StartContainer "+k.name, func(ctx context.Context, rt cri.RuntimeServiceClient) error {
		_, err := rt.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: k.id})
		return err
	})
	if err != nil {
		return err
	}
	k.life.Created, k.life.Started = time.Now(), time.Now()
	if pid, err := c.pid(ctx, k.id); err == nil { // it may have exited already
		k.pid = uint32(pid)
	}
	return nil
}

// end lets the payload come to its end, or stops the container: at once (SIGKILL), or with time to handle SIGTERM.
func (c *criClient) end(ctx context.Context, k *container) {
	if k.spec.Signal == "" {
		c.x.release(ctx, k)
		return
	}
	grace := int64(0)
	if k.spec.Signal == "SIGTERM" {
		grace = 30
	}
	err := until(ctx, func(ctx context.Context) error {
		return c.call(ctx, "StopContainer "+k.name, func(ctx context.Context, rt cri.RuntimeServiceClient) error {
			c.x.ledger.Sent(k.id, "", int(signals[k.spec.Signal]), "the client")
			_, err := rt.StopContainer(ctx, &cri.StopContainerRequest{ContainerId: k.id, Timeout: grace})
			return ignoreNotFound(err)
		})
	})
	if err != nil {
		c.x.timeline.note("client", "gave up stopping %s", k.name)
	}
}

func ignoreNotFound(err error) error {
	if status.Code(err) == codes.NotFound {
		return nil
	}
	return err
}

// statusPause is the time between two looks at a container's status. kubelet looks every second.
const statusPause = 10 * time.Millisecond

// stopAgain is how long a container may run on after a StopContainer that succeeded until the client stops it again, as kubelet's next sync would.
const stopAgain = 2 * time.Second

// wait looks at the container's status until it has exited, or half of the client's time is over: what is left then must still be removed.
func (c *criClient) wait(ctx context.Context, k *container) {
	e := Entry{At: time.Now(), Who: "client", What: "await the exit of " + k.name}
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	tick, again := time.NewTicker(statusPause), time.NewTicker(stopAgain)
	defer tick.Stop()
	defer again.Stop()
	for done := false; !done; {
		var err error
		if done, err = c.look(ctx, k); err != nil {
			e.Err = err.Error()
		}
		select {
		case <-ctx.Done():
			e.Err += ctx.Err().Error()
			done = true
		case <-again.C:
			if !done && k.spec.Signal != "" {
				c.end(ctx, k)
			}
		case <-tick.C:
		}
	}
	e.Took = time.Since(e.At)
	c.x.timeline.add(e)
}

// look asks for the status once; true when there is nothing more to wait for.
func (c *criClient) look(ctx context.Context, k *container) (bool, error) {
	_, conn, err := c.x.daemon.Up(ctx)
	if err != nil {
		return false, err
	}
	r, err := cri.NewRuntimeServiceClient(conn).ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: k.id})
	if status.Code(err) == codes.NotFound {
		return true, err
	}
	if err != nil || r.Status.State != cri.ContainerState_CONTAINER_EXITED {
		return false, err
	}
	c.x.ledger.Observe(oracle.Observation{
		Container: k.id, Observer: oracle.ByCRIStatus, Status: uint32(r.Status.ExitCode), At: time.Unix(0, r.Status.FinishedAt), PID: int(k.pid),
	})
	k.told, k.status = true, uint32(r.Status.ExitCode)
	return true, nil
}

// remove is what kubelet does to get rid of a pod, known to it or not: it stops and removes every sandbox that there is, and the containers before
// them; until nothing is listed any more.
func (c *criClient) remove(ctx context.Context) error {
	var sandboxes []*cri.PodSandbox
	err := c.call(ctx, "ListPodSandbox", func(ctx context.Context, rt cri.RuntimeServiceClient) error {
		r, err := rt.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
		if err == nil {
			sandboxes = r.Items
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range sandboxes {
		if err := c.removeSandbox(ctx, s.Id); err != nil {
			return err
		}
	}
	return c.removeContainers(ctx)
}

func (c *criClient) removeSandbox(ctx context.Context, id string) error {
	err := c.call(ctx, "StopPodSandbox", func(ctx context.Context, rt cri.RuntimeServiceClient) error {
		_, err := rt.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: id})
		return ignoreNotFound(err)
	})
	if err != nil {
		return err
	}
	if err := c.removeContainers(ctx); err != nil {
		return err
	}
	return c.call(ctx, "RemovePodSandbox", func(ctx context.Context, rt cri.RuntimeServiceClient) error {
		_, err := rt.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: id})
		return ignoreNotFound(err)
	})
}

func (c *criClient) removeContainers(ctx context.Context) error {
	return c.call(ctx, "RemoveContainer", func(ctx context.Context, rt cri.RuntimeServiceClient) error {
		r, err := rt.ListContainers(ctx, &cri.ListContainersRequest{})
		if err != nil {
			return err
		}
		for _, k := range r.Containers {
			if _, err := rt.RemoveContainer(ctx, &cri.RemoveContainerRequest{ContainerId: k.Id}); ignoreNotFound(err) != nil {
				return err
			}
			c.removed(k.Id)
		}
		return nil
	})
}

func (c *criClient) removed(id string) {
	for _, k := range c.containers {
		if k.id == id && k.told { // its task was deleted when it exited
			k.life.Deleted = time.Now()
		}
	}
}

// againBriefly runs a pod of the same name without a container: what could be in the way is the name's reservation.
func (c *criClient) againBriefly(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.x.Workload.Deadline)
	defer cancel()
	second := &criClient{x: c.x}
	return errors.Join(second.runSandbox(ctx), until(ctx, second.remove))
}

// again runs a pod of the same name, which must not be reserved any more, with a first container.
func (c *criClient) again(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.x.Workload.Deadline)
	defer cancel()
	k := &container{name: c.containers[0].name}
	second := &criClient{x: c.x, containers: []*container{k}}
	err := second.runSandbox(ctx)
	if err == nil {
		err = errors.Join(second.create(ctx, k), second.start(ctx, k))
	}
	if err == nil {
		second.end(ctx, k)
		second.wait(ctx, k)
		err = toldAgain(k)
	}
	return errors.Join(err, until(ctx, second.remove))
}
