package iopressure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/must"
)

// needs skips a test that the machine cannot run, with the reason.
func needs(t *testing.T) Mode {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	h, err := detect()
	if err != nil {
		t.Skip(err)
	}
	return h.mode
}

func newDisk(t *testing.T, sizeMiB int) *Disk {
	t.Helper()
	d, err := NewDisk(t.Context(), t.TempDir(), sizeMiB)
	if errors.Is(err, ErrNoLoop) {
		t.Skip(err)
	}
	must.Succeed(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// group returns a cgroup of the test's own on V2, and "" on V1.
func group(t *testing.T) string {
	t.Helper()
	h := must.Get(detect())(t)
	if h.mode == V1 {
		return ""
	}
	dir := filepath.Join(h.root, fmt.Sprintf("shimquake-test-%d", os.Getpid()))
	must.Succeed(t, os.Mkdir(dir, 0o755))
	t.Cleanup(func() { must.Succeed(t, os.Remove(dir)) })
	return dir
}

// inMountNamespace runs f on a thread with its own mount namespace. The thread ends with
// f, and all mounts of f end with the thread.
func inMountNamespace(t *testing.T, f func()) {
	t.Helper()
	done := make(chan error)
	go func() { defer close(done); runUnshared(done, f) }()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// runUnshared leaves the host's mount namespace, and calls f.
func runUnshared(done chan<- error, f func()) {
	runtime.LockOSThread() // never unlocked: the thread ends with its goroutine
	if unix.Gettid() == os.Getpid() {
		// The first thread of a Go process does not end. Keep it, and use another thread.
		defer runtime.UnlockOSThread()
		inner := make(chan struct{})
		go func() { defer close(inner); runUnshared(done, f) }()
		<-inner
		return
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		done <- fmt.Errorf("unshare: %w", err)
		return
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		done <- fmt.Errorf("make / private: %w", err)
		return
	}
	f()
}

// rig is an overlay whose layers are on a Disk.
type rig struct {
	disk        *Disk
	base, merge string
	group       string
}

func (r *rig) mountDisk() error {
	if err := unix.Mount(r.disk.Path, r.base, FSType, 0, ""); err != nil {
		return fmt.Errorf("mount the disk: %w", err)
	}
	return r.disk.Close()
}

func (r *rig) mountOverlay() error {
	opts := []string{}
	for _, d := range []string{"lower", "upper", "work"} {
		dir := filepath.Join(r.base, d)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		opts = append(opts, d+"dir="+dir)
	}
	if err := unix.Mount("overlay", r.merge, "overlay", 0, strings.Join(opts, ",")); err != nil {
		return fmt.Errorf("mount the overlay: %w", err)
	}
	return nil
}

// dirty writes the pages of another process, on V2 in the limited group.
func (r *rig) dirty(ctx context.Context, mib int) error {
	args := DirtyArgs(filepath.Join(r.base, "neighbour"), mib)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	if r.group != "" {
		dir, err := os.Open(r.group)
		if err != nil {
			return err
		}
		defer func() { _ = dir.Close() }()
		cmd.SysProcAttr = &unix.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	}
	return cmd.Run()
}

// unmount mounts the overlay, dirties the disk and unmounts the overlay. It returns how
// long umount2 took by our clock and according to Watch.
func (r *rig) unmount(ctx context.Context, mib int) (time.Duration, Stall, error) {
	if err := errors.Join(r.mountOverlay(), r.dirty(ctx, mib)); err != nil {
		return 0, Stall{}, err
	}
	stalls, err := Watch(ctx, "/proc", os.Getpid())
	if err != nil {
		return 0, Stall{}, err
	}
	start := time.Now()
	err = unix.Unmount(r.merge, 0)
	took := time.Since(start)
	all, serr := stalls.Stop()
	if serr != nil || len(all) == 0 {
		return took, Stall{}, errors.Join(err, serr)
	}
	return took, slices.MaxFunc(all, func(a, b Stall) int { return cmp.Compare(a.Lasted, b.Lasted) }), err
}

// waitsIn returns a channel that is closed when the kernel's stack of this thread has a
// function, until ctx ends.
func waitsIn(ctx context.Context, function string) <-chan struct{} {
	seen, stack := make(chan struct{}), fmt.Sprintf("/proc/self/task/%d/stack", unix.Gettid())
	go func() {
		for ctx.Err() == nil {
			if text, _ := os.ReadFile(stack); strings.Contains(string(text), function) {
				close(seen)
				return
			}
		}
	}()
	return seen
}

func TestUmountWaitsForTheNeighboursPagesUntilTheLimitIsLifted(t *testing.T) {
	needs(t)
	const mib, bps = 8, 4 << 20 // so some 2 s
	r := &rig{disk: newDisk(t, 64), base: t.TempDir(), merge: t.TempDir(), group: group(t)}
	dev := r.disk.Dev
	backing := backingOf(dev)
	if !isDisk(backing) {
		t.Fatalf("%s is backed by %q", dev, backing)
	}
	inMountNamespace(t, func() {
		if err := r.mountDisk(); err != nil {
			t.Error(err)
			return
		}
		free, _, err := r.unmount(t.Context(), mib)
		if err != nil {
			t.Error(err)
			return
		}
		throttle, err := Limit(t.Context(), Target{Dev: dev, BPS: bps, CgroupDir: r.group})
		if err != nil {
			t.Error(err)
			return
		}
		defer func() {
			if err := Undo(*throttle); err != nil {
				t.Error(err)
			}
		}()
		flushes := waitsIn(t.Context(), "ovl_sync_fs")
		slow, seen, err := r.unmount(t.Context(), mib)
		if err != nil {
			t.Error(err)
			return
		}
		select {
		case <-flushes:
		default:
			t.Error("umount2 has not waited in ovl_sync_fs")
		}
		t.Logf("without the limit %v, with it %v; seen: %v", free, slow, seen)
		if slow < time.Second || free > slow/2 {
			t.Errorf("umount2 took %v under the limit and %v without: no pressure", slow, free)
		}
		if off := slow - seen.Lasted; off < 0 || off > 10*interval {
			t.Errorf("Watch saw %v of %v", seen.Lasted, slow)
		}
		must.Equal(t, seen.Path, r.merge, "Watch saw")
		must.Equal(t, seen.PID, os.Getpid(), "Watch saw")
		if err := Undo(*throttle); err != nil {
			t.Error(err)
		}
		if after, _, err := r.unmount(t.Context(), mib); err != nil || after > slow/2 {
			t.Errorf("umount2 took %v after the limit was lifted, %v", after, err)
		}
	})
	// Only the overlay was unmounted: the end of the namespace must unmount the disk.
	if !eventually(t, func() bool { return backingOf(dev) != backing }) {
		t.Errorf("%s is still attached to %s", dev, backing)
	}
}

func TestUndoLiftsOnlyItsOwnLimit(t *testing.T) {
	mode := needs(t)
	d := newDisk(t, MinDiskMiB)
	target := Target{Dev: d.Dev, BPS: 1 << 20, CgroupDir: group(t)}
	var kept []byte
	target.Keep = func(r Record) error {
		now, err := r.inForce()
		if now != 0 || err != nil {
			t.Errorf("the record was kept with %d in force, %v; want it before the limit", now, err)
		}
		kept, err = json.Marshal(r)
		return err
	}
	throttle, err := Limit(t.Context(), target)
	must.Succeed(t, err)
	var rec Record
	if err := json.Unmarshal(kept, &rec); err != nil || rec != *throttle {
		t.Fatalf("kept %s, %v; want %+v", kept, err, *throttle)
	}
	inForce := func(want int64) {
		t.Helper()
		must.Equal(t, must.Get(rec.inForce())(t), want, "in force")
	}
	inForce(1 << 20)

	old := rec
	old.Backing = "/gone/" + diskPrefix + "1" // the device belongs to another disk now
	other := rec
	other.BPS = 7 << 20 // another process has set another limit since
	for _, r := range []Record{old, other} {
		if err := Undo(r); err != nil {
			t.Error(err)
		}
		inForce(1 << 20)
	}
	for range 2 {
		if err := Undo(rec); err != nil {
			t.Error(err)
		}
		inForce(0)
	}
	if mode == V1 {
		if throttle, err = Limit(t.Context(), target); err != nil {
			t.Fatal(err)
		}
		if err := liftOldLimit(d.Dev); err != nil { // as NewDisk does on a used device
			t.Error(err)
		}
		inForce(0)
	}
	if err := Undo(*throttle); err != nil {
		t.Error(err)
	}
}

func TestLimitRefuses(t *testing.T) {
	for name, target := range map[string]Target{
		"a path":      {Dev: "/dev/loop0", BPS: 4096},
		"no speed":    {Dev: "7:0"},
		"one byte":    {Dev: "7:0", BPS: 1},
		"less than 0": {Dev: "7:0", BPS: -4096},
	} {
		if th, err := Limit(t.Context(), target); err == nil {
			t.Errorf("%s: no error", name)
			_ = Undo(*th)
		}
	}
	must.Fail(t, Undo(Record{Dev: "7:0", Mode: "v3"}), "Undo of an unknown mode")
}

// eventually checks every 5 ms, for at most 10 s. The kernel detaches a loop device
// shortly after its last user, without a notification.
func eventually(t *testing.T, f func() bool) bool {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-tick.C {
		if f() {
			return true
		}
	}
	return false
}
