package inventory

import "testing"

func TestOwner(t *testing.T) {
	known := Inventory{
		Bundles:    []Bundle{{Namespace: "default", ID: "c1"}, {Namespace: "other", ID: "c1"}},
		RuncStates: []RuncState{{Namespace: "k8s.io", ID: "0123abcd"}},
		Cgroups:    []Cgroup{{Rel: "default"}, {Rel: "default/lost"}, {Rel: "default/lost/inner"}},
		Daemon:     &Daemon{Containers: []Ref{{"moby", "feed"}}},
	}
	for cgroup, want := range map[string]Ref{
		"/shimquake/w1/default/c1":                    {"default", "c1"},
		"/shimquake/w1/other/c1":                      {"other", "c1"},
		"/w1/default/c1/made/by/itself":               {"default", "c1"},
		"/kubepods/besteffort/pod1/0123abcd":          {"k8s.io", "0123abcd"},
		"/system.slice/cri-containerd-0123abcd.scope": {"k8s.io", "0123abcd"},
		"/system.slice/docker-feed.scope":             {"moby", "feed"},
		"/w1/default/lost":                            {"default", "lost"},
		"/w1/default/lost/inner":                      {"default", "lost"},
		"/w1":                                         {},
		"/":                                           {},
		"":                                            {},
	} {
		if ns, id := known.Owner(Process{Cgroup: cgroup}); (Ref{ns, id}) != want {
			t.Errorf("owner(%q) = %q, %q; want %v", cgroup, ns, id, want)
		}
	}
}
