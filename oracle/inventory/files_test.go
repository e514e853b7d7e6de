package inventory

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/core/mount"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/scan"
)

// disk makes a folder with files and with directories (whose names end with a slash), and
// lists it like a folder of a scene.
func disk(t *testing.T, s Scene, mounts []Mount, names ...string) []string {
	t.Helper()
	s.Root = t.TempDir()
	for _, name := range names {
		file := filepath.Join(s.Root, name)
		if strings.HasSuffix(name, "/") {
			must.Succeed(t, os.MkdirAll(file, 0o700))
			continue
		}
		must.Succeed(t, os.MkdirAll(filepath.Dir(file), 0o700))
		must.Succeed(t, os.WriteFile(file, nil, 0o600))
	}
	tree := must.Get(scan.OpenTree(s.Root))(t)
	defer tree.Close()
	files := must.Get(listFiles(tree, s.withDefaults(), mounts))(t)
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
			must.Equal(t, disk(t, test.scene, test.mounts, test.there...), test.want)
		})
	}
}

func TestWrittenDir(t *testing.T) {
	for want, m := range map[string]mount.Mount{
		"/s/7": {Type: "overlay", Options: []string{"workdir=/s/7/work", "upperdir=/s/7/fs", "lowerdir=/s/1/fs"}},
		"/s/8": {Type: "bind", Source: "/s/8/fs", Options: []string{"rw", "rbind"}},
		"":     {Type: "bind", Source: "/s/1/fs", Options: []string{"ro", "rbind"}},
	} {
		must.Equal(t, writtenDir([]mount.Mount{m}), want, m)
	}
}

// A program of the world makes many hard links in long paths.
func TestTooManyFiles(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, strings.Repeat("d", 250), strings.Repeat("e", 250))
	first := filepath.Join(dir, "0")
	must.Succeed(t, errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(first, nil, 0o600)))
	tree := must.Get(scan.OpenTree(root))(t)
	defer tree.Close()
	w := fileWalk{tree: tree, own: func(string) bool { return false }}
	if err := w.walk("/", false); err != nil || len(w.out) != 3 {
		t.Fatalf("%v, %v", w.out, err)
	}
	long := strings.Repeat("x", 200)
	for n := range maxPaths/(len(dir)-len(root)+len(long)) + 1 {
		must.Succeed(t, os.Link(first, filepath.Join(dir, long+strconv.Itoa(n))))
	}
	must.FailWith(t, w.walk("/", false), "32 MiB of their paths", "files:", len(w.out))
	w.size, w.out = 0, make([]File, scan.MaxListed)
	must.FailWith(t, w.walk("/", false), "more than 100000 files", "files:", len(w.out))
}
