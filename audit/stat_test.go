package audit

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/oracle/inventory"
)

const shimStat = "4711 (containerd-shim) S 1 4709 4709 0 -1 1077936384 1 2 3 4 5 6 7 8 20 0 12 0 123456 1 2 1844674" +
	" 1 1 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0"

func TestDaemonFlags(t *testing.T) {
	for line, want := range map[string]places{
		"/usr/bin/containerd": {},
		"containerd -c /etc/c.toml -a /run/k3s/c.sock --state /run/k3s/containerd --root /var/lib/x": {
			config: "/etc/c.toml", address: "/run/k3s/c.sock",
			Places: inventory.Places{State: "/run/k3s/containerd", Root: "/var/lib/x"}},
		"containerd --config=/a --log-level debug --address=/b": {config: "/a", address: "/b"},
		"containerd --config /var/run/docker/containerd/containerd.toml": {
			config: "/var/run/docker/containerd/containerd.toml"},
		"/var/lib/rancher/rke2/data/v1/bin/containerd -c /x --state": {config: "/x"},
	} {
		got, ok := isContainerd("/usr/bin/containerd", strings.Fields(line))
		if !ok || got != want {
			t.Errorf("%q: %+v, %v; want %+v", line, got, ok, want)
		}
	}
	for _, line := range []string{
		"containerd --version", "containerd config dump", "/usr/bin/containerd --address /a publish --topic t",
		"containerd -h", "containerd -c /x oci-hook",
	} {
		if _, ok := isContainerd("/usr/bin/containerd", strings.Fields(line)); ok {
			t.Errorf("%q serves", line)
		}
	}
	if _, ok := isContainerd("/usr/bin/vim", strings.Fields("vim containerd")); ok {
		t.Error("an editor is a containerd")
	}
	if _, ok := isContainerd("/var/lib/rancher/k3s/data/1/bin/k3s", []string{"containerd", "-c", "/x"}); !ok {
		t.Error("k3s's is none")
	}
	if _, ok := isContainerd("/usr/bin/containerd"+deleted, []string{"/usr/bin/containerd"}); !ok {
		t.Error("one that was replaced is none")
	}
}

func FuzzDaemonFlags(f *testing.F) {
	f.Add("containerd\x00-c\x00/a\x00--state")
	f.Add("containerd\x00--=\x00-\x00--")
	f.Fuzz(func(t *testing.T, text string) {
		argv := strings.Split(text, "\x00")
		p, ok := isContainerd("/usr/bin/containerd", argv)
		if ok && len(argv) == 0 {
			t.Errorf("%q: %+v", text, p)
		}
		for _, where := range []string{p.config, p.address, p.State, p.Root} {
			if !strings.Contains(text, where) {
				t.Errorf("%q: %q is from nowhere", text, where)
			}
		}
	})
}

func TestCgroupKey(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	for rel, want := range map[string]Key{
		"k8s.io/c1":                     {"k8s.io", "c1"},
		"kubepods/burstable/podx/" + id: {"", id},
		"kubepods.slice/x.slice/cri-containerd-c1.scope": {"", "c1"},
		"system.slice/docker-" + id + ".scope":           {"", id},
		"docker/" + id:                                   {"", id},
		"machine.slice/libpod-" + id + ".scope":          {},
		"user.slice":                                     {},
		"x/k8s.io/c1":                                    {},
		"kubepods/burstable/pod01234567-89ab":            {},
		"system.slice/containerd.service":                {},
	} {
		if got, ok := cgroupKey(rel, map[string]bool{"k8s.io": true}); got != want || ok != (want.ID != "") {
			t.Errorf("%s: %v, %v; want %v", rel, got, ok, want)
		}
	}
}

func TestSocketName(t *testing.T) {
	// printf ADDRESS/NAMESPACE/ID | sha256sum: as pkg/shim.SocketAddress of containerd
	// does.
	const want = "5643fcb627683f8a577878c63175cb86c8aa17302107b0e97cf970aa17ff3018"
	if got := socketName("/run/containerd/containerd.sock", Key{"k8s.io", "p1"}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestRelease(t *testing.T) {
	for from, want := range map[string]string{
		"1.7.2": "v1.7.2", "v2.4.2": "v2.4.2", "": "", "(devel)": "", " v1.6.0\n": "v1.6.0",
	} {
		if got := release(from); got != want {
			t.Errorf("%q: %q, want %q", from, got, want)
		}
	}
}
