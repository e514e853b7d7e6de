package settle

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
	"github.com/shimquake/shimquake/oracle/wording"
)

const taskDir = "/run/containerd/io.containerd.runtime.v2.task"

// A leak of every class that needs no containerd is planted once, in its own world. It
// must be the only finding, and have the right reason. Otherwise a list that is always
// empty would pass.
func TestPlantedLeaksAreFound(t *testing.T) {
	for _, test := range []struct {
		name  string
		plant func(*miniWorld)
		class finding.Class
		says  []string
		more  []finding.Class // its companions
	}{
		{"process", func(w *miniWorld) {
			pid := w.start(order{Argv: []string{"sleep", "1000"}})
			w.until("it was executed", func(inv inventory.Inventory) bool { p, _ := inv.Process(pid); return len(p.Argv) == 2 })
		}, finding.ClassProcess, []string{"(sleep 1000)", "its parent is init", "no children"}, nil},
		{"stopped process", func(w *miniWorld) {
			w.start(order{Argv: []string{"sh", "-c", "kill -STOP $$"}})
			w.until("it is stopped", func(inv inventory.Inventory) bool {
				return slices.ContainsFunc(inv.Processes, func(p inventory.Process) bool { return p.State == "T" })
			})
		}, finding.ClassProcess, []string{"stopped"}, nil},
		{"zombie", func(w *miniWorld) {
			w.role("zombie", nil)
			w.until("there is a zombie", func(inv inventory.Inventory) bool {
				return slices.ContainsFunc(inv.Processes, inventory.Process.Zombie)
			})
		}, finding.ClassProcess, []string{"zombie: process"}, []finding.Class{finding.ClassProcess}},
		{"shim", func(w *miniWorld) {
			w.role("listener", []string{"LISTEN=/run/containerd/s/ab12"}, "-namespace", "default", "-id", "c1")
			w.until("it listens", func(inv inventory.Inventory) bool {
				return len(inv.Sockets) == 1 &&
					inv.Sockets[0].Listening
			})
		}, finding.ClassShim, []string{"default/c1", "bundle gone", "socket still listening", "no children"},
			[]finding.Class{finding.ClassSocket}},
		{"shim's helper", func(w *miniWorld) {
			pid := w.role("listener", []string{"LISTEN=/run/elsewhere"}, "-namespace", "default", "-id", "c1", "delete")
			w.until("it was executed, and listens", func(inv inventory.Inventory) bool {
				p, _ := inv.Process(pid)
				return p.Shim != nil &&
					slices.ContainsFunc(inv.Files, func(f inventory.File) bool { return f.Path == "/run/elsewhere" })
			})
		}, finding.ClassShim, []string{`a "delete" helper`, "no socket"}, []finding.Class{finding.ClassFile}},
		{"abstract socket", func(w *miniWorld) {
			w.role("listener", []string{"LISTEN=@/containerd-shim/x.sock"})
			w.until("it listens", func(inv inventory.Inventory) bool { return len(inv.Sockets) == 1 })
		}, finding.ClassSocket, []string{"@/containerd-shim/x.sock", "still listening"},
			[]finding.Class{finding.ClassProcess}},
		{"dead socket", func(w *miniWorld) { w.mkdir("/run/containerd/s"); deadSocket(w, "/run/containerd/s/ab12") },
			finding.ClassSocket, []string{"without a listener", "no bundle is left"}, nil},
		{"socket beside a bundle", func(w *miniWorld) {
			w.mkdir(taskDir + "/default/c1")
			deadSocket(w,
				taskDir+"/default/c1/s")
		},
			finding.ClassSocket, []string{"bundle default/c1 names it"}, []finding.Class{finding.ClassBundle}},
		{"bundle", func(w *miniWorld) { w.mkdir(taskDir + "/default/c1") },
			finding.ClassBundle, []string{"default/c1", "no shim with that id"}, nil},
		{"hidden bundle", func(w *miniWorld) { w.mkdir(taskDir + "/default/.c1") },
			finding.ClassBundle, []string{"hidden: its removal began and did not finish"}, nil},
		{"work directory", func(w *miniWorld) { w.mkdir("/run/root/io.containerd.runtime.v2.task/default/c1") },
			finding.ClassBundle, []string{"work directory", "its bundle has gone"}, nil},
		{"sandbox's bundle",
			func(w *miniWorld) { w.mkdir("/run/containerd/io.containerd.sandbox.controller.v1.shim/k8s.io/p1") },
			finding.ClassBundle, []string{"k8s.io/p1"}, nil},
		{"CRI directory", func(w *miniWorld) { w.mkdir("/run/root/io.containerd.grpc.v1.cri/containers/c1") },
			finding.ClassCRIDir, []string{"containers/c1"}, nil},
		{"mount of a bundle", func(w *miniWorld) {
			w.mkdir(taskDir + "/default/c1/rootfs")
			w.run("mount", "-t", "tmpfs", "x", taskDir+"/default/c1/rootfs")
		}, finding.ClassMount, []string{"tmpfs mount on", "still mounted for default/c1", "bundle still " +
			"there"}, []finding.Class{finding.ClassBundle}},
		{"mount elsewhere", func(w *miniWorld) { w.run("mount", "-t", "tmpfs", "x", "/mnt") },
			finding.ClassMount, []string{"tmpfs mount on /mnt"}, nil},
		{"a mount twice", func(w *miniWorld) { w.run("mount", "--bind", "/proc", "/proc") },
			finding.ClassMount, []string{"proc mount on /proc"}, nil},
		{"cgroup", func(w *miniWorld) { mkdirAll(w, filepath.Join(w.scene.CgroupDirs[0], "c1")) },
			finding.ClassCgroup, []string{"/c1", "empty"}, nil},
		{"runc state", func(w *miniWorld) { w.mkdir("/run/containerd/runc/default/c1") },
			finding.ClassRuncState, []string{"/run/containerd/runc/default/c1"}, nil},
		{"FIFO", func(w *miniWorld) { w.mkdir("/run/containerd/fifo/123"); fifo(w, "/run/containerd/fifo/123/c1-stdout") },
			finding.ClassFIFO, []string{"c1-stdout"}, nil},
		{"file", func(w *miniWorld) { w.mkdir("/run/containerd/own"); write(w, "/run/containerd/own/c1") },
			finding.ClassFile, []string{"directory /run/containerd/own", "it is new"}, nil},
		{"file that nobody knows in a known directory", func(w *miniWorld) { write(w, "/run/containerd/s/note") },
			finding.ClassFile, []string{"file /run/containerd/s/note"}, nil},
		{"files in a FIFO's directory", func(w *miniWorld) {
			w.mkdir("/run/containerd/fifo/123")
			write(w, "/run/containerd/fifo/123/c1-stdout.bak")
		}, finding.ClassFile, []string{"file /run/containerd/fifo/123/c1-stdout.bak"}, nil},
		{"socket that is no shim's", func(w *miniWorld) { deadSocket(w, "/run/containerd/other.sock") },
			finding.ClassFile, []string{"socket /run/containerd/other.sock"}, nil},
		{"directory of a snapshot", func(w *miniWorld) {
			w.mkdir("/run/root/io.containerd.snapshotter.v1.overlayfs/snapshots/7/fs/bin")
		}, finding.ClassFile, []string{"directory /run/root/io.containerd.snapshotter.v1.overlayfs"}, nil},
		{"CRI's FIFO", func(w *miniWorld) {
			w.mkdir("/run/containerd/io.containerd.grpc.v1.cri/containers/c1/io/42")
			fifo(w, "/run/containerd/io.containerd.grpc.v1.cri/containers/c1/io/42/c1-stderr")
		}, finding.ClassFIFO, []string{"c1-stderr"}, []finding.Class{finding.ClassCRIDir}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			before := w.take()
			if found := compare.Leaks(before, w.take()); len(found) != 0 {
				t.Fatalf("found before anything was planted: %v", found)
			}
			test.plant(w)
			found := compare.Leaks(before, w.take())
			var classes []finding.Class
			hit := false
			for _, f := range found {
				classes = append(classes, f.Class)
				hit = hit || f.Class == test.class && saysAll(f, test.says)
			}
			want := append([]finding.Class{test.class}, test.more...)
			slices.Sort(want)
			slices.Sort(classes)
			if !hit || !slices.Equal(classes, want) {
				t.Errorf("want classes %v and a %s that says %q; found %v", want, test.class, test.says, found)
			}
		})
	}
}

// The permanent files of containerd and runc are not leaks.
func TestNoLeak(t *testing.T) {
	w := newWorld(t)
	before := w.take()
	before.Daemon = &inventory.Daemon{}
	for _, dir := range []string{
		taskDir + "/default", "/run/root/io.containerd.runtime.v2.task/default", "/run/containerd/runc/default",
		"/run/containerd/s", "/run/containerd/fifo/123",
	} {
		w.mkdir(dir)
	}
	mkdirAll(w, filepath.Join(w.scene.CgroupDirs[0], "default"))
	after := w.take()
	before.Daemon.Namespaces = []string{"default"}
	after.Daemon = &inventory.Daemon{Namespaces: []string{"default"}}
	if found := compare.Leaks(before, after); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	before.Daemon.Namespaces, after.Daemon.Namespaces = nil, nil // so the name excuses the cgroup
	if found := compare.Leaks(before, after); len(found) != 1 || found[0].Class != finding.ClassCgroup {
		t.Errorf("found %v, want the cgroup", found)
	}
}

// An absolute symlink in the scene leads to a directory of the scene, and not to one of
// the host.
func TestSceneIsNotLeft(t *testing.T) {
	root := t.TempDir()
	elsewhere := t.TempDir()
	must.Succeed(t, os.MkdirAll(filepath.Join(elsewhere, "ns/c1"), 0o700))
	must.Succeed(t, os.Symlink(elsewhere, filepath.Join(root, "runc")))
	tree, err := scan.OpenTree(root)
	must.Succeed(t, err)
	defer tree.Close()
	must.Succeed(t, scan.EachRuncState(tree, "/runc", func(s scan.RuncState) { t.Errorf("read the host's %v", s) }))
}

func TestASceneThatIsNotThere(t *testing.T) {
	for name, s := range map[string]inventory.Scene{
		"root":   {Root: "/nowhere", Proc: "/proc"},
		"proc":   {Root: t.TempDir(), Proc: "/nowhere"},
		"none":   {Root: t.TempDir()},
		"cgroup": {CgroupDirs: []string{"/nowhere"}},
	} {
		must.Fail(t, must.ErrorOf(inventory.Take(t.Context(), s)), name, "an inventory of a place that does not exist")
	}
}

func saysAll(f finding.Finding, words []string) bool {
	for _, w := range words {
		if !strings.Contains(wording.Of(f), w) {
			return false
		}
	}
	return true
}

// deadSocket leaves a socket file without a listener.
func deadSocket(w *miniWorld, name string) {
	w.t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: w.path(name)})
	if err != nil {
		w.t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		w.t.Fatal(err)
	}
}

func fifo(w *miniWorld, name string) {
	w.t.Helper()
	if err := unix.Mkfifo(w.path(name), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func mkdirAll(w *miniWorld, dir string) {
	w.t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
}

func write(w *miniWorld, name string) {
	w.t.Helper()
	if err := os.WriteFile(w.path(name), nil, 0o600); err != nil {
		w.t.Fatal(err)
	}
}
