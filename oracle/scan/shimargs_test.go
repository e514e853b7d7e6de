package scan

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestParseShimArgs(t *testing.T) {
	const shim = "/usr/bin/containerd-shim-runc-v2"
	for _, test := range []struct {
		name, argv string
		want       ShimArgs
		ok         bool
	}{
		{"serving", shim + " -namespace k8s.io -id c1 -address /run/containerd/containerd.sock",
			ShimArgs{"c1", "k8s.io", "", "/run/containerd/containerd.sock"}, true},
		{"debug", shim + " -namespace k8s.io -id c1 -address /a -debug", ShimArgs{"c1", "k8s.io", "", "/a"}, true},
		{"start helper", shim + " -namespace default -address /a -publish-binary /b -id c1 -debug start",
			ShimArgs{"c1", "default", "start", "/a"}, true},
		{"delete helper", shim + " -namespace default -address /a -publish-binary /b -id c1 -bundle /x delete",
			ShimArgs{"c1", "default", "delete", "/a"}, true},
		{"long flags", "anything --namespace=n --id=i", ShimArgs{ID: "i", Namespace: "n"}, true},
		{"a value that looks like the action", shim + " -namespace start -id delete",
			ShimArgs{ID: "delete", Namespace: "start"}, true},
		{"a value that looks like a flag", shim + " -namespace n -address -id -id i", ShimArgs{"i", "n", "", "-id"}, true},
		{"name of a shim alone", shim, ShimArgs{}, false},
		{"no namespace", "sleep -id 4", ShimArgs{ID: "4"}, false},
		{"after the first word", "grep x -id c1 -namespace k8s.io", ShimArgs{}, false},
		{"no value", shim + " -namespace n -id", ShimArgs{Namespace: "n"}, false},
		{"empty", "", ShimArgs{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := ParseShimArgs(strings.Fields(test.argv))
			if got != test.want || ok != test.ok {
				t.Errorf("ParseShimArgs(%q) = %+v, %v; want %+v, %v", test.argv, got, ok, test.want, test.ok)
			}
		})
	}
}

func FuzzParseShimArgs(f *testing.F) {
	f.Add("shim\x00-namespace\x00n\x00-id\x00i\x00delete")
	f.Add("shim\x00--id=i\x00-\x00-namespace")
	f.Fuzz(func(t *testing.T, text string) {
		a, ok := ParseShimArgs(strings.Split(text, "\x00"))
		must.Equal(t, ok, a.ID != "" && a.Namespace != "", text, a)
		if a.Action != "" && a.Action != "start" && a.Action != "delete" {
			t.Errorf("%q: action %q", text, a.Action)
		}
	})
}
