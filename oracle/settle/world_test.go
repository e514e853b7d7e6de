package settle

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// miniWorld is a PID, mount, IPC, UTS and network namespace with an init of its own. All
// of containerd's leaks can be planted in it without a change of the host.
type miniWorld struct {
	t     *testing.T
	scene inventory.Scene
	in    *json.Encoder
	out   *json.Decoder
}

// newWorld starts a world and ends it with the test. It needs root.
func newWorld(t *testing.T) *miniWorld {
	t.Helper()
	must.BeRoot(t, "for namespaces of its own")
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleVar+"=init")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWNET,
		Pdeathsig:  unix.SIGKILL,
	}
	stdin := must.Get(cmd.StdinPipe())(t)
	stdout := must.Get(cmd.StdoutPipe())(t)
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close() // init ends, and the kernel ends the rest
		_ = cmd.Wait()
	})
	w := &miniWorld{t: t, in: json.NewEncoder(stdin), out: json.NewDecoder(io.Reader(stdout))}
	w.reply()
	root := fmt.Sprintf("/proc/%d/root", cmd.Process.Pid)
	w.scene = inventory.Scene{
		Root: root, Proc: filepath.Join(root, "proc"), State: "/run/containerd", ContainerdRoot: "/run/root",
		CgroupDirs: []string{t.TempDir()}, FileDirs: []string{"/run"},
		OwnFile: func(p string) bool { return p == "/run/mount" }, // mount(8)'s
	}
	for _, dir := range []string{ // directories that a used containerd always has
		"/run/containerd/s", "/run/containerd/runc", "/run/containerd/fifo", "/run/root/" + path.Base(taskDir), taskDir,
		"/run/containerd/io.containerd.sandbox.controller.v1.shim/k8s.io",
		"/run/containerd/io.containerd.grpc.v1.cri/containers", "/run/root/io.containerd.grpc.v1.cri/containers",
	} {
		w.mkdir(dir)
	}
	return w
}

func (w *miniWorld) reply() reply {
	w.t.Helper()
	var r reply
	if err := w.out.Decode(&r); err != nil {
		w.t.Fatalf("the world's init is gone: %v", err)
	}
	if r.Error != "" {
		w.t.Fatal(r.Error)
	}
	return r
}

// start runs a program in the world and returns its pid there.
func (w *miniWorld) start(o order) int {
	w.t.Helper()
	if err := w.in.Encode(o); err != nil {
		w.t.Fatal(err)
	}
	return w.reply().PID
}

// run runs a program until it exits. A failure ends the test.
func (w *miniWorld) run(argv ...string) {
	w.t.Helper()
	if err := w.in.Encode(order{Argv: argv, Wait: true}); err != nil {
		w.t.Fatal(err)
	}
	if r := w.reply(); r.Status != 0 {
		w.t.Fatalf("%v ended with %d", argv, r.Status)
	}
}

// role starts the test binary in another role.
func (w *miniWorld) role(role string, env []string, argv ...string) int {
	w.t.Helper()
	return w.start(order{Argv: append([]string{"/proc/self/exe"}, argv...), Env: append(env, roleVar+"="+role)})
}

// path returns the path of a world's file, as the test sees it.
func (w *miniWorld) path(name string) string { return filepath.Join(w.scene.Root, name) }

func (w *miniWorld) mkdir(name string) {
	w.t.Helper()
	if err := os.MkdirAll(w.path(name), 0o700); err != nil {
		w.t.Fatal(err)
	}
}

func (w *miniWorld) take() inventory.Inventory {
	w.t.Helper()
	inv, err := inventory.Take(w.t.Context(), w.scene)
	if err != nil {
		w.t.Fatal(err)
	}
	return inv
}

// until takes inventories until a condition holds.
func (w *miniWorld) until(what string, is func(inventory.Inventory) bool) inventory.Inventory {
	w.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(10 * time.Second)
	for {
		inv := w.take()
		if is(inv) {
			return inv
		}
		select {
		case <-tick.C:
		case <-late:
			w.t.Fatalf("not so within 10 s: %s; there is %+v", what, inv)
		}
	}
}
