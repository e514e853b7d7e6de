package inventory

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestTakeBelongings(t *testing.T) {
	const (
		pod   = "/run/containerd/io.containerd.grpc.v1.cri/sandboxes/pod"
		table = "1 0 0:1 / / rw - ext4 / rw\n" +
			"2 1 0:2 / " + pod + "/shm rw - tmpfs shm rw\n3 1 0:3 / /mnt/pod rw - tmpfs x rw\n"
	)
	root := t.TempDir()
	for name, text := range map[string]string{
		"proc/1/mountinfo": table, pod + "/hosts": "", pod + "/shm/x": "",
		"var/lib/containerd/other/file": "", "etc/pod": "",
	} {
		file := filepath.Join(root, name)
		must.Succeed(t, os.MkdirAll(filepath.Dir(file), 0o700))
		must.Succeed(t, os.WriteFile(file, []byte(text), 0o600))
	}
	b := must.Get(TakeBelongings(Scene{Root: root, Proc: filepath.Join(root, "proc")}, "pod", "c0"))(t)
	var got []string
	for _, h := range b.Have {
		got = append(got, h.ID+" "+h.Path+" "+h.Kind+h.Mount)
	}
	slices.Sort(got)
	want := []string{
		"pod " + pod + " directory", "pod " + pod + "/hosts ", "pod " + pod + "/shm directory",
		"pod " + pod + "/shm tmpfs",
	}
	must.Equal(t, got, want)
}
