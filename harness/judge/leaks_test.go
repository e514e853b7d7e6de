package judge

import (
	"testing"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// If a fault kept a plugin from loading, the plugin makes its directory at the next start
// of containerd. That directory is new, and no leak.
func TestDirectoriesOfPlugins(t *testing.T) {
	const state = "/run/containerd/"
	y := func(below string, kind string) inventory.File {
		return inventory.File{Path: state + "io.containerd.x.v1.y" + below, Kind: kind}
	}
	for name, tc := range map[string]struct {
		file  inventory.File
		fault int // in ms after the first call
		want  string
	}{
		"a fault in the first boot":       {y("", fact.ADirectory), -5, ""},
		"a fault after it":                {y("", fact.ADirectory), 5, "leak file"},
		"a directory of another name":     {inventory.File{Path: state + "x", Kind: fact.ADirectory}, -5, "leak file"},
		"what is in a plugin's directory": {y("/z", fact.ADirectory), -5, "leak file"},
		"a file of the name":              {y("", fact.APlainFile), -5, "leak file"},
		"a directory that is not in STATE": {
			inventory.File{Path: "/run/io.containerd.x.v1.y", Kind: fact.ADirectory}, -5, "leak file",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := clean()
			h.Calls = []harness.Call{{Who: "client", Verb: "create", Of: "c0", At: at(10)}}
			h.Hits = append(h.Hits, failpoints.Hit{Who: "containerd", Time: at(10 + tc.fault)})
			h.Firings = []harness.Firing{{Count: 1}}
			h.Before.Places.State, h.After.Inventory.Places.State = "/run/containerd", "/run/containerd"
			h.After.Inventory.Files = append(h.After.Inventory.Files, tc.file)
			if v := Judge(h, catalogued); says(v, tc.want) != "" {
				t.Errorf("%s; want %q\n%s", says(v, tc.want), tc.want, v)
			}
		})
	}
}

// The handles of containerd are not compared with an earlier containerd that had not
// loaded all plugins.
func TestHandlesOfTheNextBoot(t *testing.T) {
	for name, tc := range map[string]struct {
		fault int    // in ms after the first call
		pid   int    // of the containerd that runs at the last inventory
		next  string // the release that was started
		want  string
	}{
		"a fault in the first boot":       {-5, 32, "", ""},
		"the same containerd":             {-5, 11, "", "leak handle"},
		"a fault after the first boot":    {5, 32, "", "leak handle"},
		"a fault after it, and no others": {5, 11, "", "leak handle"},
		"another release":                 {5, 32, "v2.3.7", ""},
		"another release and back":        {5, 32, "v2.4.2", "leak handle"},
	} {
		t.Run(name, func(t *testing.T) {
			h := clean()
			h.Calls = []harness.Call{{Who: "client", Verb: "create", Of: "c0", At: at(10)}}
			h.Hits = append(h.Hits, failpoints.Hit{Who: "containerd", Time: at(10 + tc.fault)})
			h.Firings = []harness.Firing{{Count: 1}}
			if tc.next != "" {
				h.Deaths = append(h.Deaths, daemon.Death{At: at(20), Asked: true, BackIn: 1, Next: "v2.3.7"})
			}
			if tc.next == h.Version {
				h.Deaths = append(h.Deaths, daemon.Death{At: at(30), Asked: true, BackIn: 1, Next: h.Version})
			}
			holds := inventory.Held{Kind: fact.AWatch, Of: "inotify", Count: 1}
			h.Before.Handles = []inventory.Handles{{PID: 11, Start: 1}}
			h.After.Inventory.Handles = []inventory.Handles{{PID: tc.pid, Start: 1, Held: []inventory.Held{holds}}}
			if v := Judge(h, catalogued); says(v, tc.want) != "" {
				t.Errorf("%s; want %q\n%s", says(v, tc.want), tc.want, v)
			}
		})
	}
}
