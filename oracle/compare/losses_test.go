package compare

import (
	"testing"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

func TestTaken(t *testing.T) {
	dir := inventory.Belonging{ID: "pod", File: inventory.File{Path: "/s/pod", Kind: fact.ADirectory}, Mount: ""}
	file, shm := inventory.Belonging{ID: "pod", File: inventory.File{Path: "/s/pod/x"}, Mount: ""},
		inventory.Belonging{ID: "pod", File: inventory.File{Path: "/s/pod/shm"}, Mount: "tmpfs"}
	file.Size = 4
	grown, less, emptied := file, file, file
	grown.Size, less.Size, emptied.Size = 5, 3, 0
	was := inventory.Belongings{Of: []string{"pod"}, Have: []inventory.Belonging{dir, file, shm}}
	for name, tt := range map[string]struct {
		is   inventory.Belongings
		want int
	}{
		"all is there":   {was, 0},
		"of another one": {inventory.Belongings{Of: []string{"c0"}}, 0},
		"a file has grown": {inventory.Belongings{Of: []string{"pod"}, Have: []inventory.Belonging{dir, grown, shm}},
			0},
		"a file has less": {inventory.Belongings{Of: []string{"pod"}, Have: []inventory.Belonging{dir, less, shm}}, 0},
		"a file is empty": {
			inventory.Belongings{Of: []string{"pod"}, Have: []inventory.Belonging{dir, emptied, shm}}, 1,
		},
		"the directory is gone": {inventory.Belongings{Of: []string{"pod"}}, 1},
		"two of it are gone":    {inventory.Belongings{Of: []string{"pod"}, Have: []inventory.Belonging{dir}}, 2},
	} {
		if got := LostWhileRunning(was, tt.is, inventory.Places{}); len(got) != tt.want {
			t.Errorf("%s: %d findings, want %d: %v", name, len(got), tt.want, got)
		}
	}
}

// An earlier cgroup in two hierarchies is one loss.
func TestVanishedCgroup(t *testing.T) {
	pod := func(hierarchy string) inventory.Cgroup {
		return inventory.Cgroup{Path: "/" + hierarchy + "/w1/pod1", Rel: "pod1"}
	}
	before := inventory.Inventory{Cgroups: []inventory.Cgroup{pod("cpu"), pod("memory")}}
	if got := Missing(before, before); len(got) > 0 {
		t.Errorf("nothing is gone, and it finds %v", got)
	}
	got := Missing(before, inventory.Inventory{Cgroups: before.Cgroups[:0]})
	if len(got) != 1 || got[0].Class != finding.ClassCgroup || got[0].Invariant != finding.Loss ||
		got[0].Facts[fact.Hierarchies] != "2" {
		t.Errorf("it finds %v; want one cgroup that is lost, of 2 hierarchies", got)
	}
}
