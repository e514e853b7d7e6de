package oracle

import "testing"

// A cgroup that was there before, in two hierarchies, is one thing that is gone.
func TestVanishedCgroup(t *testing.T) {
	pod := func(hierarchy string) Cgroup { return Cgroup{Path: "/" + hierarchy + "/w1/pod1", Rel: "pod1"} }
	before := Inventory{Cgroups: []Cgroup{pod("cpu"), pod("memory")}}
	if got := Vanished(before, before); len(got) > 0 {
		t.Errorf("nothing is gone, and it finds %v", got)
	}
	got := Vanished(before, Inventory{Cgroups: before.Cgroups[:0]})
	if len(got) != 1 || got[0].Class != ClassCgroup || got[0].Invariant != Loss || got[0].Facts[FactHierarchies] != "2" {
		t.Errorf("it finds %v; want one cgroup that is lost, of 2 hierarchies", got)
	}
}
