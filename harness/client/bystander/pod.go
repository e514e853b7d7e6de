package bystander

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	api "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/poll"
)

// pod is a bystander that uses CRI. Its output is in the log that containerd writes for
// kubelet.
type pod struct {
	*one
	sandbox, container string
	// logs are the names of the container's log files that were renamed.
	logs      []string
	rotations []rotation
}

// rotation is a successful rotation. logs is the number of files that had been renamed
// until then.
type rotation struct {
	harness.Rotation
	logs int
}

// call makes a call of CRI about the pod.
func call[Q, R any](ctx context.Context, p *pod, verb string,
	method func(api.RuntimeServiceClient, context.Context, Q, ...grpc.CallOption) (R, error), q Q) (r R, err error) {
	err = p.about(ctx, verb, func(ctx context.Context, c connection) (err error) {
		r, err = method(api.NewRuntimeServiceClient(c.conn), ctx, q)
		return err
	})
	return r, err
}

// logName returns the name of the container's log, which is in the folder Truth.
func (p *pod) logName() string { return p.name + ".out" }

func (p *pod) namespaces() *api.NamespaceOption {
	return client.PodNamespaces(p.Network, false)
}

func (p *pod) config() *api.PodSandboxConfig {
	return &api.PodSandboxConfig{
		Metadata:     &api.PodSandboxMetadata{Name: p.name, Uid: "bystander", Namespace: "default"},
		LogDirectory: p.Truth.Name(),
		Linux: &api.LinuxPodSandboxConfig{
			SecurityContext: &api.LinuxSandboxSecurityContext{NamespaceOptions: p.namespaces()},
		},
	}
}

func (p *pod) start(ctx context.Context) error {
	if err := p.expect(); err != nil {
		return err
	}
	r, err := call(ctx, p, "RunPodSandbox", api.RuntimeServiceClient.RunPodSandbox,
		&api.RunPodSandboxRequest{Config: p.config()})
	if err != nil {
		return err
	}
	p.sandbox = r.PodSandboxId
	p.identify(func(s *harness.Bystander) { s.Sandbox = p.sandbox })
	if err := p.create(ctx); err != nil {
		return err
	}
	_, err = call(ctx, p, "StartContainer", api.RuntimeServiceClient.StartContainer,
		&api.StartContainerRequest{ContainerId: p.container})
	if err != nil {
		return err
	}
	if err := p.awaitPayload(ctx); err != nil {
		return err
	}
	return p.learnPID(ctx)
}

func (p *pod) create(ctx context.Context) error {
	name, value := client.Env(p.name)
	r, err := call(ctx, p, "CreateContainer", api.RuntimeServiceClient.CreateContainer, &api.CreateContainerRequest{
		PodSandboxId: p.sandbox, SandboxConfig: p.config(),
		Config: &api.ContainerConfig{
			Metadata: &api.ContainerMetadata{Name: p.name},
			Image:    &api.ImageSpec{Image: payload.Image},
			Command:  p.command(),
			Envs:     []*api.KeyValue{{Key: name, Value: []byte(value)}},
			Mounts:   []*api.Mount{{ContainerPath: client.MountedTruth, HostPath: p.Truth.Name()}},
			LogPath:  p.logName(),
			Tty:      p.Terminal,
			Linux: &api.LinuxContainerConfig{
				SecurityContext: &api.LinuxContainerSecurityContext{NamespaceOptions: p.namespaces()},
			},
		},
	})
	if err == nil {
		p.container = r.ContainerId
		p.identify(func(s *harness.Bystander) { s.ID = p.container })
	}
	return err
}

// learnPID requests the container's pid from containerd's own API, because CRI does not
// report it.
func (p *pod) learnPID(ctx context.Context) error {
	return p.about(ctx, "pid", func(ctx context.Context, c connection) error {
		pid, err := client.PIDOf(ctx, c.Client, p.container)
		if err == nil {
			p.set(func(s *harness.Bystander) { s.PID = uint32(pid) })
		}
		return err
	})
}

// askOnce lists all containers and all pods, as kubelet does every second.
func (p *pod) askOnce(ctx context.Context) error {
	all, err := call(ctx, p, "ListContainers", api.RuntimeServiceClient.ListContainers, &api.ListContainersRequest{})
	if err != nil {
		return err
	}
	p.told(listed("ListContainers", p.container, all.Containers))
	pods, err := call(ctx, p, "ListPodSandbox", api.RuntimeServiceClient.ListPodSandbox, &api.ListPodSandboxRequest{})
	if err == nil {
		p.told(listed("ListPodSandbox", p.sandbox, pods.Items))
	}
	return err
}

// listed returns the entry for an id in a list.
func listed[K interface {
	GetId() string
	GetState() S
}, S fmt.Stringer](verb, id string, all []K) harness.BystanderTold {
	is := harness.BystanderTold{Verb: verb, At: time.Now()}
	if n := slices.IndexFunc(all, func(k K) bool { return k.GetId() == id }); n >= 0 {
		is.Listed, is.State = true, all[n].GetState().String()
	}
	return is
}

// ask requests the container's status, as kubelet does every second. In this call
// containerd executes no statement at which a fault can happen.
func (p *pod) ask(ctx context.Context) error {
	r, err := call(ctx, p, "ContainerStatus", api.RuntimeServiceClient.ContainerStatus,
		&api.ContainerStatusRequest{ContainerId: p.container})
	if err == nil {
		p.told(harness.BystanderTold{
			Verb: "ContainerStatus", At: time.Now(), Listed: true, State: r.GetStatus().GetState().String()})
	}
	return err
}

// end waits until CRI reports the container as exited, and removes the pod.
func (p *pod) end(ctx context.Context) error {
	err := p.about(ctx, "await", p.awaitExit)
	if err != nil {
		return err
	}
	client.AwaitEvent(ctx, p.Events, inventory.Ref{Namespace: p.namespace, ID: p.container}, event.TopicDelete)
	_, err = call(ctx, p, "StopPodSandbox", api.RuntimeServiceClient.StopPodSandbox,
		&api.StopPodSandboxRequest{PodSandboxId: p.sandbox})
	if err != nil {
		return err
	}
	_, err = call(ctx, p, "RemovePodSandbox", api.RuntimeServiceClient.RemovePodSandbox,
		&api.RemovePodSandboxRequest{PodSandboxId: p.sandbox})
	return err
}

// statusPause is the time between two status calls of awaitExit.
const statusPause = 10 * time.Millisecond

func (p *pod) awaitExit(ctx context.Context, c connection) error {
	rt := api.NewRuntimeServiceClient(c.conn)
	return poll.Until(ctx, statusPause, func() (bool, error) {
		r, err := rt.ContainerStatus(ctx, &api.ContainerStatusRequest{ContainerId: p.container})
		if err != nil || r.Status.State != api.ContainerState_CONTAINER_EXITED {
			return false, err
		}
		p.reported(exit.ByCRIStatus, uint32(r.Status.ExitCode), time.Unix(0, r.Status.FinishedAt))
		return true, nil
	})
}

// discard stops and removes the pod in any state. It records no call, because an earlier
// failure is already recorded.
func (p *pod) discard(ctx context.Context) error {
	_, conn, err := p.Connect(ctx)
	if err != nil || p.sandbox == "" {
		return err
	}
	rt := api.NewRuntimeServiceClient(conn)
	if _, err := rt.StopPodSandbox(ctx, &api.StopPodSandboxRequest{PodSandboxId: p.sandbox}); err != nil &&
		status.Code(err) != codes.NotFound {
		return err
	}
	_, err = rt.RemovePodSandbox(ctx, &api.RemovePodSandboxRequest{PodSandboxId: p.sandbox})
	if status.Code(err) == codes.NotFound {
		return nil
	}
	return err
}

// rotate renames the log, and asks CRI to open a new one. If CRI fails, the old log keeps
// its new name, because containerd may already have created the new log.
func (p *pod) rotate(ctx context.Context) error {
	to := p.logName() + "." + strconv.Itoa(len(p.logs))
	if err := p.Truth.Rename(p.logName(), to); err != nil {
		return err // the log is not renamed, so containerd still writes to it
	}
	p.logs = append(p.logs, to)
	is := harness.Rotation{At: time.Now()}
	err := p.reopen(ctx)
	if is.Answered = time.Now(); err == nil {
		p.rotations = append(p.rotations, rotation{Rotation: is, logs: len(p.logs)})
	}
	return err
}

func (p *pod) reopen(ctx context.Context) error {
	_, err := call(ctx, p, "ReopenContainerLog", api.RuntimeServiceClient.ReopenContainerLog,
		&api.ReopenContainerLogRequest{ContainerId: p.container})
	return err
}

// maxLog is the size limit of a log, in bytes. The payload writes some KiB.
const maxLog = 64 << 20

// output returns the lines in all logs. It takes a missing log as empty.
func (p *pod) output() harness.Outputs {
	read, texts := time.Now(), []string{}
	for _, log := range append(p.logs, p.logName()) {
		text, _ := p.Truth.Read(log, maxLog)
		texts = append(texts, string(text))
	}
	for _, r := range p.rotations {
		r.Late = client.LogsAfter(r.Answered, texts[:r.logs]...)
		p.set(func(s *harness.Bystander) { s.Rotations = append(s.Rotations, r.Rotation) })
	}
	if p.Terminal {
		return client.ReadTerminalLog(read, texts...)
	}
	return client.ReadLog(read, texts...)
}
