package control

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness/runner"
)

// runPod leaves a pod with a running container, like a kubelet that forgot it.
func runPod(ctx context.Context, s runner.Scene) error {
	rt := cri.NewRuntimeServiceClient(s.Client.Conn().(grpc.ClientConnInterface))
	config := &cri.PodSandboxConfig{
		Metadata: &cri.PodSandboxMetadata{Name: planted, Uid: planted, Namespace: "default"},
		Linux: &cri.LinuxPodSandboxConfig{SecurityContext: &cri.LinuxSandboxSecurityContext{
			NamespaceOptions: &cri.NamespaceOption{Network: cri.NamespaceMode_NODE},
		}},
	}
	pod, err := rt.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: config})
	if err != nil {
		return fmt.Errorf("run a pod: %w", err)
	}
	c, err := rt.CreateContainer(
		ctx,
		&cri.CreateContainerRequest{PodSandboxId: pod.PodSandboxId, SandboxConfig: config, Config: &cri.ContainerConfig{
			Metadata: &cri.ContainerMetadata{
				Name: planted,
			}, Image: &cri.ImageSpec{Image: payload.Image}, Command: []string{payload.Program, "wait"},
		}},
	)
	if err != nil {
		return fmt.Errorf("create its container: %w", err)
	}
	_, err = rt.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: c.ContainerId})
	return err
}
