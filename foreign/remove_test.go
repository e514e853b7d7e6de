package foreign_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/must"
)

// nest makes folders in each other. Every hundredth has a file and a link to a victim.
func nest(t *testing.T, dir string, levels int) (victim string) {
	t.Helper()
	victim = filepath.Join(t.TempDir(), "victim")
	must.Succeed(t, errors.Join(os.MkdirAll(filepath.Join(victim, "inner"), 0o700),
		os.WriteFile(filepath.Join(victim, "file"), []byte(secret), 0o600)))
	in, err := unix.Open(dir, unix.O_PATH, 0)
	for level := range levels {
		must.Succeed(t, err)
		err = unix.Mkdirat(in, "d", 0o700)
		if level%100 == 0 {
			err = errors.Join(err, unix.Symlinkat(victim, in, "link"), unix.Mkfifoat(in, "a FIFO", 0o600))
		}
		var sub int
		if err == nil {
			sub, err = unix.Openat(in, "d", unix.O_PATH, 0)
		}
		err = errors.Join(err, unix.Close(in))
		in = sub
	}
	if err = errors.Join(err, unix.Close(in)); err != nil {
		t.Fatal(err)
	}
	return victim
}

// limitFiles limits the open files of this process until the test ends.
func limitFiles(t *testing.T, most uint64) {
	t.Helper()
	var was unix.Rlimit
	must.Succeed(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	must.Succeed(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: most, Max: was.Max}))
	t.Cleanup(func() { must.Succeed(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was)) })
}

func TestATreeOfAnyDepthIsRemoved(t *testing.T) {
	base := t.TempDir()
	d, err := foreign.MakeDir(filepath.Join(base, "folder", "w1"), 0o700)
	must.Succeed(t, err)
	victim := nest(t, d.Name(), 20_000)
	limitFiles(t, 200)
	must.Succeed(t, d.Close())
	if d, err = foreign.OpenDir(base); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a missing folder is no error
		must.Succeed(t, d.RemoveAll("folder/w1"))
	}
	for name, isThere := range map[string]bool{
		filepath.Join(base, "folder"): true, filepath.Join(base, "folder/w1"): false,
		filepath.Join(victim, "file"): true, filepath.Join(victim, "inner"): true,
	} {
		if _, err := os.Lstat(name); err == nil != isThere {
			t.Errorf("%s: %v", name, err)
		}
	}
	must.Succeed(t, d.Close())
}

func TestRemoveAllStaysInItsFolder(t *testing.T) {
	d, outside := folder(t)
	for _, name := range append([]string{".", "..", "inner/..", "inner/.", "../.", ""}, outOf...) {
		must.Fail(t, d.RemoveAll(name), name, "was removed")
	}
	for _, name := range []string{"plain", "link", "absolute parent", "magic", "fifo", "folder link", "twice"} {
		_, err := d.Describe(name)
		if err = errors.Join(err, d.RemoveAll(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		must.Is(t, must.ErrorOf(d.Describe(name)), fs.ErrNotExist, name)
	}
	for _, name := range []string{outside, d.Path("inner/file"), filepath.Join(filepath.Dir(outside), "hard")} {
		must.Get(os.Lstat(name))(t)
	}
}

// The folder and its mount are on one filesystem, so only the mount's id differs.
func TestAMountIsNotRemoved(t *testing.T) {
	must.BeRoot(t, "to mount")
	base := t.TempDir()
	victim := filepath.Join(base, "victim")
	for _, at := range []string{"w", "w/a", "w/a/b", "w/a/b/c"} {
		point := filepath.Join(base, at)
		must.Succeed(t, errors.Join(os.MkdirAll(filepath.Join(base, "w/a/b/c"), 0o700), os.MkdirAll(victim, 0o700),
			os.WriteFile(filepath.Join(victim, "file"), []byte(secret), 0o600),
			unix.Mount(victim, point, "", unix.MS_BIND, "")))
		t.Cleanup(func() { _ = unix.Unmount(point, unix.MNT_DETACH) }) // after a failure
		d := must.Get(foreign.OpenDir(base))(t)
		if err := d.RemoveAll("w"); !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.EXDEV) {
			t.Errorf("with a mount on %s: %v", at, err)
		}
		must.Get(os.Lstat(filepath.Join(victim, "file")))(t)
		must.Equal(t, errors.Join(unmountAll(victim), d.RemoveAll("w"), d.Close()), nil, "without the mount on", at)
	}
}

// unmountAll unmounts each mount whose root is the victim. Its mount point may have a new
// name.
func unmountAll(victim string) error {
	return filepath.WalkDir(filepath.Join(filepath.Dir(victim), "w"), func(name string, _ fs.DirEntry, err error) error {
		if err == nil && unix.Unmount(name, unix.MNT_DETACH) == nil {
			return fs.SkipDir
		}
		return err
	})
}

func TestAWalkIsBounded(t *testing.T) {
	d, err := foreign.OpenDir(t.TempDir())
	must.Succeed(t, err)
	nest(t, d.Name(), 12_000)
	limitFiles(t, 400)
	seen := 0
	err = d.Walk(t.Context(), 1<<20, func(string, fs.DirEntry) error { seen++; return nil })
	var limit *foreign.LimitError
	if !errors.As(err, &limit) || limit.Unit != foreign.Levels || limit.Name != d.Name() || seen > 3 {
		t.Errorf("%v after %d entries", err, seen)
	}
	// The limit of entries is for the whole tree.
	err = d.Walk(t.Context(), 50, func(string, fs.DirEntry) error { return nil })
	if !errors.As(err, &limit) || limit.Unit != foreign.Entries || limit.Most != 50 {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen = 0
	err = d.Walk(ctx, 1<<20, func(string, fs.DirEntry) error { seen++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || seen != 1 {
		t.Errorf("a walk that is cancelled: %v after %d entries", err, seen)
	}
	must.Succeed(t, errors.Join(d.RemoveAll("d"), d.Close()))
}
