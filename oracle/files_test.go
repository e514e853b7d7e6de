package oracle

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/core/mount"

	"github.com/shimquake/shimquake/oracle/scan"
)

// disk makes a folder with directories (ending with a slash) and files, and lists it as a
// scene's.
func disk(t *testing.T, s Scene, mounts []Mount, names ...string) []string {
	t.Helper()
	s.Root = t.TempDir()
	for _, name := range names {
		file := filepath.Join(s.Root, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(file, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := scan.OpenTree(s.Root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	files, err := listFiles(tree, s.withDefaults(), mounts)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		out = append(out, strings.TrimSpace(f.Kind+" "+f.Path))
	}
	slices.Sort(out)
	return out
}

func TestListFiles(t *testing.T) {
	const snapshots = "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots"
	for _, test := range []struct {
		name   string
		scene  Scene
		mounts []Mount
		there  []string
		want   []string
	}{
		{"nothing that was not asked for", Scene{}, nil, []string{"/run/x"}, nil},
		{"files and directories", Scene{FileDirs: []string{"/run"}}, nil, []string{"/run/a/b", "/run/c/", "/tmp/d"},
			[]string{"/run/a/b", "directory /run/a", "directory /run/c"}},
		{"not beyond a mount", Scene{FileDirs: []string{"/"}}, []Mount{{Point: "/proc"}}, []string{"/proc/1/", "/a"},
			[]string{"/a", "directory /proc"}},
		{"a mount that was asked for", Scene{FileDirs: []string{"/", "/root"}}, []Mount{{Point: "/root"}},
			[]string{"/root/a"}, []string{"/root/a", "directory /root"}},
		{"not the harness's own",
			Scene{FileDirs: []string{"/run"}, OwnFile: func(p string) bool { return p == "/run/truth" }}, nil,
			[]string{"/run/truth/c0", "/run/a"}, []string{"/run/a"}},
		{"a snapshot, but not what a container wrote", Scene{FileDirs: []string{snapshots}}, nil,
			[]string{snapshots + "/7/fs/etc/passwd", snapshots + "/7/work/"},
			[]string{
				"directory " + snapshots + "/7", "directory " + snapshots + "/7/fs", "directory " + snapshots + "/7/work",
			}},
		{"no directories of FIFOs", Scene{FileDirs: []string{"/f"}, FIFODirs: []string{"/f/fifo"}}, nil,
			[]string{"/f/fifo/12/", "/f/fifo/13/note"}, []string{"/f/fifo/13/note", "directory /f/fifo"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := disk(t, test.scene, test.mounts, test.there...); !slices.Equal(got, test.want) {
				t.Errorf("%q\nwant\n%q", got, test.want)
			}
		})
	}
}

// disked is an inventory with these files, of a containerd whose root is /w/root.
func disked(daemon *Daemon, files ...File) Inventory {
	return Inventory{Files: files, Daemon: daemon, Places: Places{Root: "/w/root", State: "/run/containerd"}}
}

func TestNewFiles(t *testing.T) {
	const bundle = "/run/containerd/io.containerd.runtime.v2.task/ns/c1"
	dir := func(name string) File { return File{Path: name, Kind: ADirectory} }
	const shots = "/w/root/io.containerd.snapshotter.v1.overlayfs/snapshots/"
	const meta = "/w/root/io.containerd.metadata.v1.bolt/meta.db"
	sized := func(path string, size int64) File { return File{Path: path, Size: size} }
	held := Snapshot{Namespace: "default", Snapshotter: "overlayfs", Key: "c1"}
	knows := &Daemon{Snapshots: []Snapshot{held}, SnapshotDirs: []SnapshotDir{{held, shots + "7"}}}
	committed := &Daemon{Snapshots: []Snapshot{{"default", "overlayfs", "sha256:1", true}}}
	bundled := disked(&Daemon{}, dir(bundle), File{Path: bundle + "/config.json"})
	bundled.Bundles = []Bundle{{Path: bundle, Namespace: "ns", ID: "c1"}}
	mounted := disked(&Daemon{}, File{Path: "/run/netns/cni-1"})
	mounted.Mounts = []Mount{{Point: "/run/netns/cni-1", Type: "nsfs"}}
	old := disked(&Daemon{}, dir("/tmp"), sized("/tmp/journal", 10), sized(meta, 32768), sized(meta+".old", 10))
	for _, test := range []struct {
		name  string
		after Inventory
		want  []string
	}{
		{"what was there", old, nil},
		{"a file that has grown", disked(&Daemon{}, sized("/tmp/journal", 11)), []string{"file /tmp/journal"}},
		{"one that is shorter", disked(&Daemon{}, sized("/tmp/journal", 9)), nil},
		{"what may grow", disked(&Daemon{}, sized(meta, 65536), sized(meta+".old", 11)), []string{"file " + meta + ".old"}},
		{"a directory is reported once", disked(&Daemon{}, dir("/tmp"), dir("/tmp/x"), File{Path: "/tmp/x/y"}),
			[]string{"directory /tmp/x"}},
		{"two with one beginning", disked(&Daemon{}, File{Path: "/tmp/x"}, File{Path: "/tmp/xy"}),
			[]string{"file /tmp/x", "file /tmp/xy"}},
		{"a snapshot's directory", disked(&Daemon{}, dir(shots+"7"), dir(shots+"7/fs")),
			[]string{"directory of a snapshot " + shots + "7"}},
		{"one that is half made", disked(&Daemon{}, dir(shots+"new-123")),
			[]string{"directory of a snapshot " + shots + "new-123"}},
		{"the directory of a snapshot that is left", disked(knows, dir(shots+"7"), dir(shots+"7/fs"), dir(shots+"8")),
			[]string{"directory of a snapshot " + shots + "8", "snapshot default/c1"}},
		{"the directory of a layer", disked(committed, dir(shots+"7"), dir(shots+"7/fs"), dir(shots+"8")),
			[]string{"directory of a snapshot " + shots + "8", "snapshot default/sha256:1"}},
		{"what is in a bundle that is left", bundled, []string{"bundle " + bundle}},
		{"what something is mounted on", mounted, []string{"nsfs mount on /run/netns/cni-1"}},
		{"what may appear", disked(&Daemon{}, dir("/run/containerd/s"), File{Path: "/run/containerd/s/x", Kind: ASocket}),
			[]string{"socket /run/containerd/s/x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, f := range Leaks(old, test.after) {
				got = append(got, f.What())
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("%q\nwant\n%q", got, test.want)
			}
		})
	}
}

// Each file that may appear, and how far the permission goes: none of its neighbours may.
func TestFilesThatMayAppear(t *testing.T) {
	const runtime, boxes, cri = "io.containerd.runtime.v2.task", "sandboxes", "io.containerd.grpc.v1.cri"
	lets := map[string][]string{ // what it lets through, and then what not
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
			f := File{Path: p, Kind: l.Kind}
			if got := l.Lets(disked(nil), f); got != (i == 0) {
				t.Errorf("%s lets %s pass: %v", l.Path, p, got)
			}
			if f.Kind = ASymlink; l.Lets(disked(nil), f) {
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
	if _, err := parseFileList([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, from, to string }{
		{"no reason", "it stays", `""`}, {"no kind", "directory", `""`}, {"no such kind", "directory", "folder"},
		{"no pattern", "STATE/s", `"STATE/[s"`}, {"everything", "STATE/s", `"/*"`},
		{"everything of containerd's", "STATE/s", `"STATE/*"`}, {"another key", "because", "why"},
		{"no range", "because", "releases: newer, because"},
	} {
		if _, err := parseFileList([]byte(strings.Replace(good, test.from, test.to, 1))); err == nil {
			t.Errorf("accepted: %s", test.name)
		}
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
		if got := comparablePath(from); got != want {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
}

func TestWrittenDir(t *testing.T) {
	for want, m := range map[string]mount.Mount{
		"/s/7": {Type: "overlay", Options: []string{"workdir=/s/7/work", "upperdir=/s/7/fs", "lowerdir=/s/1/fs"}},
		"/s/8": {Type: "bind", Source: "/s/8/fs", Options: []string{"rw", "rbind"}},
		"":     {Type: "bind", Source: "/s/1/fs", Options: []string{"ro", "rbind"}},
	} {
		if got := writtenDir([]mount.Mount{m}); got != want {
			t.Errorf("%+v: %q, want %q", m, got, want)
		}
	}
}
