package scan

import "testing"

func TestMountOwner(t *testing.T) {
	for point, want := range map[string][2]string{
		"/run/containerd/io.containerd.runtime.v2.task/default/c1/rootfs":  {"default", "c1"},
		"/run/containerd/io.containerd.runtime.v2.task/default/.c1/rootfs": {"default", "c1"},
		"/w/state/io.containerd.grpc.v1.cri/sandboxes/p1/shm":              {"k8s.io", "p1"},
		"/run/containerd/io.containerd.runtime.v2.task/default":            {},
		"/proc": {},
	} {
		if ns, id := MountOwner(point); ns != want[0] || id != want[1] {
			t.Errorf("MountOwner(%q) = %q, %q; want %v", point, ns, id, want)
		}
	}
}
