package iopressure

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/must"
)

// asOwner makes the test binary a process that owns and mounts a disk until it is killed.
const asOwner = "IOPRESSURE_TEST_OWNER"

func TestMain(m *testing.M) {
	dir := os.Getenv(asOwner)
	if dir == "" {
		os.Exit(m.Run())
	}
	d, err := NewDisk(context.Background(), dir, MinDiskMiB)
	if err == nil {
		r := &rig{disk: d, base: filepath.Join(dir, "mnt")}
		err = errors.Join(os.Mkdir(r.base, 0o755), r.mountDisk(), r.dirty(context.Background(), 1))
	}
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println(d.Dev)
	select {}
}

func TestAKilledOwnerLeavesNothing(t *testing.T) {
	newDisk(t, MinDiskMiB) // skips the test if no disk can be made
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asOwner+"="+dir)
	cmd.SysProcAttr = &unix.SysProcAttr{Unshareflags: unix.CLONE_NEWNS} // Go makes the mounts private, too
	out := must.Get(cmd.StdoutPipe())(t)
	must.Succeed(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	dev := strings.TrimSpace(line)
	if _, devErr := parseDev(dev); err != nil || devErr != nil {
		t.Fatalf("the owner said %q, %v", line, err)
	}
	backing := backingOf(dev)
	if !strings.HasSuffix(filepath.Dir(backing), dir) { // in a chroot the kernel shows the host's path
		t.Fatalf("%s is backed by %q, want a file of %s", dev, backing, dir)
	}
	must.Succeed(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if !eventually(t, func() bool { return backingOf(dev) != backing }) {
		t.Errorf("%s is still attached to %s", dev, backing)
	}
	left := must.Get(filepath.Glob(filepath.Join(dir, diskPrefix+"*")))(t)
	must.Len(t, left, 0, "files left")
}

func TestDisksAreMadeQuicklyAndSideBySide(t *testing.T) {
	newDisk(t, MinDiskMiB)
	const n = 6 // a kernel starts with eight devices
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		byDev = map[string]int{}
		dir   = t.TempDir()
	)
	start := time.Now()
	for range n {
		wg.Go(func() {
			d, err := NewDisk(t.Context(), dir, 256)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			byDev[d.Dev]++
			t.Cleanup(func() { must.Succeed(t, errors.Join(d.Close(), d.Close())) })
		})
	}
	wg.Wait()
	t.Logf("%d disks in %v", n, time.Since(start))
	must.Equal(t, len(byDev), n, "devices", byDev)
	must.Len(t, must.Get(os.ReadDir(dir))(t), 0, "backing files keep their names")
}

func TestNewDiskRefuses(t *testing.T) {
	must.Fail(t, must.ErrorOf(NewDisk(t.Context(), t.TempDir(), MinDiskMiB-1)), "a disk of too few MiB")
	must.Is(t, must.ErrorOf(NewDisk(t.Context(), "/nonexistent", MinDiskMiB)), os.ErrNotExist, "a disk in no folder")
}

// The filesystem below has less room than the disk, but enough for an empty ext4.
func TestADiskReservesItsSpace(t *testing.T) {
	newDisk(t, MinDiskMiB) // skips the test if no disk can be made
	dir := t.TempDir()
	must.Succeed(t, unix.Mount("", dir, "tmpfs", 0, "size=24m"))
	t.Cleanup(func() { must.Succeed(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	d, err := NewDisk(t.Context(), dir, 64)
	if err == nil {
		err = d.Close()
	}
	says := fmt.Sprintf("a disk of 64 MiB in %s: no space left on device: only 24 MiB are free", dir)
	if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), says) {
		t.Errorf("%v; want %q", err, says)
	}
	must.Len(t, must.Get(os.ReadDir(dir))(t), 0, "the failure has left")
	if d, err = NewDisk(t.Context(), dir, MinDiskMiB); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, d.Close())
}
