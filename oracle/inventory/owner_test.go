package inventory

import (
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
)

func TestOwner(t *testing.T) {
	known := Inventory{
		Bundles:    []Bundle{{Namespace: "default", ID: "c1"}, {Namespace: "other", ID: "c1"}},
		RuncStates: []RuncState{{Namespace: "k8s.io", ID: "0123abcd"}},
		Cgroups:    []Cgroup{{Rel: "default"}, {Rel: "default/lost"}, {Rel: "default/lost/inner"}},
		Daemon:     &Daemon{Containers: []Ref{{"moby", "feed"}}},
	}
	must.Table(t, "testdata/owners.txt", func(cgroup string) string {
		ns, id := known.Owner(Process{Cgroup: cgroup})
		return strings.TrimSpace(ns + " " + id)
	})
}
