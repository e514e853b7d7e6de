package cri

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/poll"
)

// namespaces returns the namespaces that kubelet requests for a pod. Unless a container
// has the key `sharedPID`, each one has a PID namespace of its own, and so survives the
// death of the sandbox.
func (c *Client) namespaces() *api.NamespaceOption {
	opts := &api.NamespaceOption{Network: api.NamespaceMode_NODE, Pid: api.NamespaceMode_CONTAINER}
	if c.Case.Workload.Network == harness.PodNetwork {
		opts.Network = api.NamespaceMode_POD
	}
	if slices.ContainsFunc(c.Case.Workload.Containers, func(k harness.Container) bool { return k.SharedPID }) {
		opts.Pid = api.NamespaceMode_POD
	}
	return opts
}

// config returns the configuration of the pod.
func (c *Client) config() *api.PodSandboxConfig {
	config := &api.PodSandboxConfig{
		Metadata: &api.PodSandboxMetadata{Name: harness.PodName, Uid: "shimquake", Namespace: "default"},
		Linux: &api.LinuxPodSandboxConfig{
			SecurityContext: &api.LinuxSandboxSecurityContext{NamespaceOptions: c.namespaces()},
		},
	}
	if c.Beside != nil {
		config.Metadata.Name = c.Beside.Name
	}
	if slices.ContainsFunc(c.instances, c.hasLog) {
		config.LogDirectory = c.Truth.Name()
	}
	return config
}

func (c *Client) runSandbox(ctx context.Context) error {
	return c.makes(ctx, "RunPodSandbox", "", func(ctx context.Context, rt api.RuntimeServiceClient) error {
		r, err := rt.RunPodSandbox(ctx, &api.RunPodSandboxRequest{Config: c.config()})
		if err == nil {
			c.mu.Lock()
			c.sandbox, c.stopped = r.PodSandboxId, false
			c.mu.Unlock()
			c.late.note(r.PodSandboxId)
			c.NoteInit("sandbox", r.PodSandboxId, 0)
			c.done("RunPodSandbox", r.PodSandboxId)
			c.RecordBelongings(c.ids(nil)...)
		}
		return err
	})
}

func (c *Client) create(ctx context.Context, i *harness.Instance) error {
	if err := errors.Join(c.CreateRecord(i.Name), c.openLog(i)); err != nil {
		return err
	}
	i.Begun = time.Now()
	name, value := client.Env(i.Name)
	image, stop := payload.Image, api.Signal_SIGNAL_RUNTIME_DEFAULT
	switch {
	case i.Spec.Signal == payload.StopSignal:
		image = payload.StopImage
	case c.stopsByConfig(ctx, i):
		image, stop = payload.StopImage, api.Signal_SIGNAL_SIGTERM
	}
	log := ""
	if c.hasLog(i) {
		log = logName(i)
	}
	return c.makes(ctx, "CreateContainer", i.Name, func(ctx context.Context, rt api.RuntimeServiceClient) error {
		r, err := rt.CreateContainer(
			ctx,
			&api.CreateContainerRequest{PodSandboxId: c.sandboxID(), SandboxConfig: c.config(), Config: &api.ContainerConfig{
				Metadata:   &api.ContainerMetadata{Name: i.CRIName()},
				Image:      &api.ImageSpec{Image: image},
				Command:    c.Command(i),
				Tty:        i.Spec.TTY,
				Stdin:      i.Spec.Stdin > 0,
				StdinOnce:  i.Input != nil && !i.Input.Open,
				LogPath:    log,
				StopSignal: stop,
				Envs:       []*api.KeyValue{{Key: name, Value: []byte(value)}},
				Mounts:     []*api.Mount{{ContainerPath: client.MountedTruth, HostPath: c.Truth.Name()}},
				Linux: &api.LinuxContainerConfig{
					Resources:       memoryLimit(client.Limit(i)),
					SecurityContext: &api.LinuxContainerSecurityContext{NamespaceOptions: c.namespaces()},
				},
			}},
		)
		if err == nil {
			i.ID = r.ContainerId
			c.late.note(i.ID)
			if i == c.instances[0] {
				c.NoteInit("task", i.ID, 0)
			}
			c.done("CreateContainer", i.ID)
		}
		return err
	})
}

// stopsByConfig reports whether the client should test the stop signal in a container's
// configuration. containerd supports it since v2.3: CRI then reports a stop signal for
// the first container. In a case with faults the result is false, because the status
// call could trigger a fault.
func (c *Client) stopsByConfig(ctx context.Context, i *harness.Instance) (known bool) {
	first := c.instances[0]
	if i.Spec.Signal != "SIGTERM" || i.Spec.IgnoresTerm || i == first || first.ID == "" ||
		c.again || c.NoExtraCalls || !c.Case.Faultless() {
		return false
	}
	c.aside(func() {
		c.ask(ctx, func(ctx context.Context, rt api.RuntimeServiceClient) {
			r, err := rt.ContainerStatus(ctx, &api.ContainerStatusRequest{ContainerId: first.ID})
			known = err == nil && r.GetStatus().GetStopSignal() != api.Signal_SIGNAL_RUNTIME_DEFAULT
		})
	})
	return known
}

// memoryLimit returns resources with a memory limit and without swap. 0 means no limit.
func memoryLimit(limit int64) *api.LinuxContainerResources {
	return &api.LinuxContainerResources{MemoryLimitInBytes: limit, MemorySwapLimitInBytes: limit}
}

func (c *Client) start(ctx context.Context, i *harness.Instance) error {
	err := c.call(ctx, "StartContainer", i.Name, func(ctx context.Context, rt api.RuntimeServiceClient) error {
		_, err := rt.StartContainer(ctx, &api.StartContainerRequest{ContainerId: i.ID})
		return err
	})
	if err != nil {
		return err
	}
	i.Created, i.Started = time.Now(), time.Now()
	c.done("StartContainer", i.ID)
	if c.runsOn(i) && !c.again {
		c.RecordBelongings(i.ID)
	}
	c.learn(ctx, i)
	return nil
}

// end lets the payload exit, or stops the container.
func (c *Client) end(ctx context.Context, i *harness.Instance) {
	c.markEnding(i)
	if i.Spec.Signal == "" {
		c.Release(ctx, i)
		return
	}
	_ = c.stop(ctx, i, func() bool { return false }) // stop records an error
}

// stop calls StopContainer. The grace period is 0, which means an immediate SIGKILL,
// unless the container's spec names another signal. The function cancelled reports
// whether a `cancel` step has cancelled the call.
func (c *Client) stop(ctx context.Context, i *harness.Instance, cancelled func() bool) error {
	grace, signal := int64(0), unix.SIGKILL
	switch {
	case i.Spec.IgnoresTerm:
		grace, signal = int64(harness.StopGrace.Seconds()), unix.SIGTERM
	case i.Spec.Signal != "SIGKILL" && i.Spec.Signal != "":
		grace, signal = 30, harness.Signals[i.Spec.Signal]
	}
	err := client.Until(ctx, func(ctx context.Context) error {
		err := c.call(ctx, "StopContainer", i.Name, func(ctx context.Context, rt api.RuntimeServiceClient) error {
			c.Record.Sent(i.ID, int(signal))
			_, err := rt.StopContainer(ctx, &api.StopContainerRequest{ContainerId: i.ID, Timeout: grace})
			return err
		})
		if cancelled() {
			return nil
		}
		return ignoreNotFound(err)
	})
	if err != nil {
		c.Record.Failed("client", "gave up stopping "+i.Name, err)
		return err
	}
	if cancelled() || i.Started.IsZero() {
		return nil
	}
	c.done("StopContainer", i.ID)
	_, _ = c.requestStatus(ctx, i) // the status is requested at once, because CRI must already report the exit
	return nil
}

func ignoreNotFound(err error) error {
	if status.Code(err) == codes.NotFound {
		return nil
	}
	return err
}

// statusPause is the time between two status calls of a wait. kubelet lists the
// containers every second.
const statusPause = 10 * time.Millisecond

// stopAgain is how long a container may keep running after a successful StopContainer.
// The client then stops it again, as kubelet's next sync would.
const stopAgain = 2 * time.Second

// wait polls the container's status until it has exited, or until half of the remaining
// time is over. The rest of the time is for the other steps.
func (c *Client) wait(ctx context.Context, i *harness.Instance) {
	call := harness.Call{Who: "client", Verb: "await", Of: i.Name, At: time.Now()}
	ctx, cancel := c.half(ctx)
	defer cancel()
	again := time.Now().Add(stopAgain)
	var last error
	err := poll.Until(ctx, statusPause, func() (bool, error) {
		done, err := c.requestStatus(ctx, i)
		if err != nil {
			last = err
		}
		if !done && i.Spec.Signal != "" && c.isEnding(i) && time.Now().After(again) {
			c.end(ctx, i)
			again = time.Now().Add(stopAgain)
		}
		return done, nil
	})
	if last == nil {
		last = err
	}
	call.Took, call.Err = time.Since(call.At), callerr.Of(last)
	c.Record.Call(call)
}

// reasonTimeout is how long the client waits until CRI reports that an exited container
// was OOM-killed. CRI may learn of the exit before it learns of the OOM kill.
const reasonTimeout = 2 * time.Second

// requestStatus requests the container's status, and records an exit. It returns true
// if the wait for the exit is over: the container has exited, or does not exist. After
// an OOM kill, it returns false until CRI reports the kill, or reasonTimeout is over.
func (c *Client) requestStatus(ctx context.Context, i *harness.Instance) (bool, error) {
	is, err := c.notedStatus(ctx, i)
	if err != nil {
		return status.Code(err) == codes.NotFound, err
	}
	if is.State != api.ContainerState_CONTAINER_EXITED {
		return false, nil
	}
	if !i.Reported {
		i.Reported, i.Waited = true, time.Now()
		i.OutputsAtExit = c.readLog(i) // kubelet reads a termination message from the log at this time
	}
	i.Status = uint32(is.ExitCode)
	c.Record.Reported(exit.Observation{
		Container: i.ID, Observer: exit.ByCRIStatus, Status: i.Status, At: time.Unix(0,
			is.FinishedAt), PID: int(i.PID),
	})
	late := i.Spec.OOM != "" && is.Reason != criview.OOMKilled && time.Since(i.Waited) < reasonTimeout
	return !late || !c.ExceededMemory(i), nil
}

// notedStatus requests the container's status, and records it.
func (c *Client) notedStatus(ctx context.Context, i *harness.Instance) (*api.ContainerStatus, error) {
	answer, is, err := c.containerStatus(ctx, i)
	if err == nil {
		c.noteStatus(is)
	}
	return answer, err
}

// containerStatus requests the container's status. It returns the response, and the
// part of it that the history records.
func (c *Client) containerStatus(ctx context.Context, i *harness.Instance) (
	*api.ContainerStatus, criview.Status, error,
) {
	rt, err := c.rt(ctx)
	if err != nil {
		return nil, criview.Status{}, err
	}
	asked := time.Now()
	r, err := rt.ContainerStatus(ctx, &api.ContainerStatusRequest{ContainerId: i.ID})
	if err != nil {
		return nil, criview.Status{}, err
	}
	return r.Status, criview.StatusOf(r.Status, asked), nil
}

// killChild makes the kernel OOM-kill a child process of a container. The container
// keeps running. killChild waits until CRI reports the container as OOM-killed. CRI
// must keep reporting that from then on.
func (c *Client) killChild(ctx context.Context, i *harness.Instance) {
	c.KillChild(ctx, i)
	if c.NoExtraCalls || i.Spec.OOM != harness.OOMChild || !c.ExceededMemory(i) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, reasonTimeout)
	defer cancel()
	_ = poll.Until(ctx, statusPause, func() (bool, error) { // the judge reports if CRI never does
		is, err := c.notedStatus(ctx, i)
		return err == nil && is.Reason == criview.OOMKilled, nil
	})
}
