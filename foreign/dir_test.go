package foreign_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/must"
)

const secret = "of somebody else"

// folder returns a folder that an attacker has filled, and a file outside of it. Each
// entry is named after its kind.
func folder(t *testing.T) (d *foreign.Dir, outside string) {
	t.Helper()
	base := t.TempDir()
	outside = filepath.Join(base, "outside")
	dir := filepath.Join(base, "folder")
	listener := must.Get(net.Listen("unix", filepath.Join(base, "s")))(t)
	t.Cleanup(func() { _ = listener.Close() })
	in := func(name string) string { return filepath.Join(dir, name) }
	must.Succeed(t, errors.Join(
		os.MkdirAll(in("inner"), 0o700),
		os.WriteFile(outside, []byte(secret), 0o600),
		os.WriteFile(in("plain"), []byte("plain"), 0o600),
		os.WriteFile(in("inner/file"), []byte("inner"), 0o600),
		os.WriteFile(in("twice"), []byte(secret), 0o600),
		os.Link(in("twice"), filepath.Join(base, "hard")),
		os.Symlink("plain", in("link")),
		os.Symlink("../outside", in("link out")),
		os.Symlink(outside, in("absolute link")),
		os.Symlink("nothing", in("dangling link")),
		os.Symlink("/dev/zero", in("link to a device")),
		os.Symlink("..", in("parent")),
		os.Symlink(base, in("absolute parent")),
		os.Symlink("/proc/self/root", in("magic")),
		os.Symlink("inner", in("folder link")),
		os.Rename(filepath.Join(base, "s"), in("socket")),
		os.Symlink("socket", in("socket link")),
		unix.Mkfifo(in("fifo"), 0o600),
		sparse(in("sparse"), 1<<40),
	))
	if os.Geteuid() == 0 {
		must.Succeed(t, unix.Mknod(in("device"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))))
	}
	d = must.Get(foreign.OpenDir(dir))(t)
	t.Cleanup(func() { _ = d.Close() })
	return d, outside
}

func sparse(name string, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// noFiles are the entries that are no regular file with one name, and the kind that an
// error names.
var noFiles = map[string]string{
	"link": "a symbolic link", "link out": "a symbolic link", "absolute link": "a symbolic link",
	"dangling link": "a symbolic link", "link to a device": "a symbolic link", "socket link": "a symbolic link",
	"inner": "a directory", "socket": "a socket", "fifo": "a FIFO", "device": "a device",
	"twice": "a file with several names (hard links)",
}

// outOf are names that lead out of the folder by a parent.
var outOf = []string{
	"../outside", "parent/outside", "absolute parent/outside", "magic/etc/hostname", "inner/../../outside",
}

func TestOnlyRegularFilesOfTheFolderAreOpened(t *testing.T) {
	d, outside := folder(t)
	for what, open := range map[string]func(string) error{
		"open":   func(name string) error { _, err := d.Open(name, 1<<20); return err },
		"read":   func(name string) error { _, err := d.Read(name, 1<<20); return err },
		"tail":   func(name string) error { _, _, err := d.Tail(name, 1<<20); return err },
		"append": func(name string) error { _, err := d.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0o600); return err },
		"create": func(name string) error {
			_, err := d.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
			return err
		},
	} {
		for name, is := range noFiles {
			if name == "device" && os.Geteuid() != 0 {
				continue // only root can make one
			}
			var kind *foreign.KindError
			if err := open(name); !errors.As(err, &kind) || kind.Is != is || kind.Name != d.Path(name) {
				t.Errorf("%s %s: %v", what, name, err)
			}
		}
		for _, name := range outOf {
			must.Fail(t, open(name), what, name, "it leads out of the folder")
		}
		must.Equal(t, open("plain"), nil, what)
		must.Equal(t, open("inner/file"), nil, what)
	}
	must.Equal(t, must.Read(t, outside), secret, "the file outside")
}

func TestAFolderIsListedWithoutLinks(t *testing.T) {
	d, _ := folder(t)
	for _, name := range []string{"folder link", "parent", "absolute parent", "magic", "plain", "fifo"} {
		var kind *foreign.KindError
		if _, err := d.List(name, 100); !errors.As(err, &kind) {
			t.Errorf("list %s: %v", name, err)
		}
		if _, err := d.Sub(name); !errors.As(err, &kind) {
			t.Errorf("open %s: %v", name, err)
		}
	}
	all, err := d.List(".", 100)
	if err != nil || len(all) < len(noFiles) || all[0].Name() > all[1].Name() {
		t.Errorf("%v, %v", all, err)
	}
	var limit *foreign.LimitError
	if _, err := d.List(".", 3); !errors.As(err, &limit) || limit.Most != 3 || limit.Unit != foreign.Entries {
		t.Errorf("of %d entries, at most 3: %v", len(all), err)
	}
	must.Get(d.List(".", len(all)))(t)
	inner := must.Get(d.Sub("inner"))(t)
	if text, err := inner.Read("file", 5); err != nil || string(text) != "inner" || inner.Name() != d.Path("inner") {
		t.Errorf("%q, %v", text, err)
	}
	must.Fail(t, must.ErrorOf(inner.Read("../plain", 5)), "a name led out of the inner folder")
	must.Succeed(t, inner.Close())
}

func TestAWalkFollowsNoLink(t *testing.T) {
	d, _ := folder(t)
	seen := map[string]bool{}
	must.Succeed(t, d.Walk(t.Context(), 100, func(name string, _ fs.DirEntry) error {
		seen[name] = true
		return nil
	}))
	if !seen["plain"] || !seen["inner/file"] || seen["folder link/file"] || !seen["folder link"] || seen["inner"] {
		t.Errorf("%v", seen)
	}
	var limit *foreign.LimitError
	if err := d.Walk(t.Context(), 3, func(string, fs.DirEntry) error { return nil }); !errors.As(err, &limit) {
		t.Errorf("at most 3: %v", err)
	}
}

func TestAFIFOIsNoFolder(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fifo")
	must.Succeed(t, unix.Mkfifo(name, 0o600))
	must.Fail(t, must.ErrorOf(foreign.OpenDir(name)), "it was opened")
}
