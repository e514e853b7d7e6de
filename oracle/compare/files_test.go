package compare

import (
	"slices"
	"strings"
	"testing"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/wording"
)

// withFiles returns an inventory with these files, for a containerd with the root
// /w/root.
func withFiles(daemon *inventory.Daemon, files ...inventory.File) inventory.Inventory {
	return inventory.Inventory{Files: files, Daemon: daemon, Places: inventory.Places{Root: "/w/root",
		State: "/run/containerd"}}
}

func TestNewFiles(t *testing.T) {
	const bundle = "/run/containerd/io.containerd.runtime.v2.task/ns/c1"
	dir := func(name string) inventory.File { return inventory.File{Path: name, Kind: fact.ADirectory} }
	const shots = "/w/root/io.containerd.snapshotter.v1.overlayfs/snapshots/"
	const meta = "/w/root/io.containerd.metadata.v1.bolt/meta.db"
	sized := func(path string, size int64) inventory.File { return inventory.File{Path: path, Size: size} }
	held := inventory.Snapshot{Namespace: "default", Snapshotter: "overlayfs", Key: "c1"}
	knows := &inventory.Daemon{Snapshots: []inventory.Snapshot{held},
		SnapshotDirs: []inventory.SnapshotDir{{Snapshot: held, Dir: shots + "7"}}}
	committed := &inventory.Daemon{Snapshots: []inventory.Snapshot{{Namespace: "default", Snapshotter: "overlayfs",
		Key: "sha256:1", Committed: true}}}
	bundled := withFiles(&inventory.Daemon{}, dir(bundle), inventory.File{Path: bundle + "/config.json"})
	bundled.Bundles = []inventory.Bundle{{Path: bundle, Namespace: "ns", ID: "c1"}}
	mounted := withFiles(&inventory.Daemon{}, inventory.File{Path: "/run/netns/cni-1"})
	mounted.Mounts = []inventory.Mount{{Point: "/run/netns/cni-1", Type: "nsfs"}}
	old := withFiles(&inventory.Daemon{}, dir("/tmp"), sized("/tmp/journal", 10), sized(meta, 32768),
		sized(meta+".old", 10))
	for _, test := range []struct {
		name  string
		after inventory.Inventory
		want  []string
	}{
		{"what was there", old, nil},
		{"a file that has grown", withFiles(&inventory.Daemon{}, sized("/tmp/journal", 11)), []string{"file /tmp/journal"}},
		{"one that is shorter", withFiles(&inventory.Daemon{}, sized("/tmp/journal", 9)), nil},
		{"what may grow", withFiles(&inventory.Daemon{}, sized(meta, 65536), sized(meta+".old", 11)),
			[]string{"file " + meta + ".old"}},
		{"a directory is reported once", withFiles(&inventory.Daemon{}, dir("/tmp"), dir("/tmp/x"),
			inventory.File{Path: "/tmp/x/y"}),
			[]string{"directory /tmp/x"}},
		{"two with one beginning", withFiles(&inventory.Daemon{}, inventory.File{Path: "/tmp/x"},
			inventory.File{Path: "/tmp/xy"}),
			[]string{"file /tmp/x", "file /tmp/xy"}},
		{"a snapshot's directory", withFiles(&inventory.Daemon{}, dir(shots+"7"), dir(shots+"7/fs")),
			[]string{"directory of a snapshot " + shots + "7"}},
		{"one that is half made", withFiles(&inventory.Daemon{}, dir(shots+"new-123")),
			[]string{"directory of a snapshot " + shots + "new-123"}},
		{"the directory of a snapshot that is left", withFiles(knows, dir(shots+"7"), dir(shots+"7/fs"), dir(shots+"8")),
			[]string{"directory of a snapshot " + shots + "8", "snapshot default/c1"}},
		{"the directory of a layer", withFiles(committed, dir(shots+"7"), dir(shots+"7/fs"), dir(shots+"8")),
			[]string{"directory of a snapshot " + shots + "8", "snapshot default/sha256:1"}},
		{"what is in a bundle that is left", bundled, []string{"bundle " + bundle}},
		{"what something is mounted on", mounted, []string{"nsfs mount on /run/netns/cni-1"}},
		{"what may appear", withFiles(&inventory.Daemon{}, dir("/run/containerd/s"),
			inventory.File{Path: "/run/containerd/s/x", Kind: fact.ASocket}),
			[]string{"socket /run/containerd/s/x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, f := range Leaks(old, test.after) {
				got = append(got, wording.Subject(f))
			}
			slices.Sort(got)
			must.Equal(t, got, test.want)
		})
	}
}

// Each file of may-appear is allowed, and none of the files beside it is.
func TestFilesThatMayAppear(t *testing.T) {
	const runtime, boxes, cri = "io.containerd.runtime.v2.task", "sandboxes", "io.containerd.grpc.v1.cri"
	lets := map[string][]string{ // allowed paths, then paths that are not
		"STATE/" + runtime + "/*": {"/run/containerd/" + runtime + "/ns", "/run/containerd/" + runtime + "/ns/c1"},
		"ROOT/" + runtime + "/*": {
			"/w/root/" + runtime + "/ns", "/w/root/" + runtime + "/ns/c1", "/w/" + runtime + "/ns",
		},
		"STATE/runc":   {"/run/containerd/runc", "/run/containerd/runc2", "/run/runc"},
		"STATE/runc/*": {"/run/containerd/runc/ns", "/run/containerd/runc/ns/c1"},
		"STATE/s":      {"/run/containerd/s", "/run/containerd/s/x", "/w/root/s", "/run/containerd/t"},
		"STATE/" + cri: {"/run/containerd/" + cri, "/run/containerd/" + cri + "/x"},
		"STATE/" + cri + "/" + boxes: {
			"/run/containerd/" + cri + "/" + boxes, "/run/containerd/" + cri + "/" + boxes + "/p",
		},
		"STATE/" + cri + "/containers": {
			"/run/containerd/" + cri + "/containers", "/run/containerd/" + cri + "/containers/c1",
			"/run/containerd/" + cri + "/other",
		},
		"ROOT/" + cri:                 {"/w/root/" + cri, "/w/root/" + cri + "/x", "/w/root/" + cri + "2"},
		"ROOT/" + cri + "/" + boxes:   {"/w/root/" + cri + "/" + boxes, "/w/root/" + cri + "/" + boxes + "/p"},
		"ROOT/" + cri + "/containers": {"/w/root/" + cri + "/containers", "/w/root/" + cri + "/containers/c1"},
		"/run/netns":                  {"/run/netns", "/run/netns/cni-1", "/run/containerd/netns"},
		"/var/lib/cni":                {"/var/lib/cni", "/var/lib/cni/x", "/w/root/cni"},
		"/var/lib/cni/results":        {"/var/lib/cni/results", "/var/lib/cni/results/x", "/var/lib/cni/networks"},
	}
	for _, l := range FilesThatMayAppear() {
		paths := lets[l.Path]
		delete(lets, l.Path)
		for i, p := range paths {
			f := inventory.File{Path: p, Kind: l.Kind}
			must.Equal(t, l.Lets(withFiles(nil), f), i == 0, l.Path, "lets pass", p)
			if f.Kind = fact.ASymlink; l.Lets(withFiles(nil), f) {
				t.Errorf("%s lets a symbolic link %s pass", l.Path, p)
			}
		}
		if len(paths) < 2 {
			t.Errorf("%s: say here what it lets pass and what not", l.Path)
		}
	}
	if len(lets) > 0 {
		t.Errorf("not in files.yaml: %v", lets)
	}
}

func TestParseFileListRefuses(t *testing.T) {
	const good = "may-appear:\n  - {path: STATE/s, kind: directory, because: it stays}\n"
	must.Get(parseFileList([]byte(good)))(t)
	for _, test := range []struct{ name, from, to string }{
		{"no reason", "it stays", `""`}, {"no kind", "directory", `""`}, {"no such kind", "directory", "folder"},
		{"no pattern", "STATE/s", `"STATE/[s"`}, {"everything", "STATE/s", `"/*"`},
		{"everything of containerd's", "STATE/s", `"STATE/*"`}, {"another key", "because", "why"},
		{"no range", "because", "releases: newer, because"},
	} {
		must.Fail(t, must.ErrorOf(parseFileList([]byte(strings.Replace(good, test.from, test.to, 1)))),
			"accepted", test.name)
	}
}

func TestComparablePath(t *testing.T) {
	const shots = "ROOT/io.containerd.snapshotter.v1.overlayfs/snapshots/"
	for from, want := range map[string]string{
		"/tmp/containerd-mount31415":              "/tmp/containerd-mountN",
		shots + "new-7":                           shots + "new-N",
		"/run/containerd/own/c0":                  "/run/containerd/own/ID",
		"/run/" + strings.Repeat("0f", 32) + "/b": "/run/ID/b",
	} {
		must.Equal(t, comparablePath(from), want, from)
	}
}
