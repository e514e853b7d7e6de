package foreign_test

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/must"
)

func TestALinkIsReplacedAndNotFollowed(t *testing.T) {
	d, outside := folder(t)
	hard := filepath.Join(d.Name(), "../hard")
	for _, name := range []string{
		"link", "link out", "absolute link", "dangling link", "link to a device", "fifo", "socket", "twice", "plain",
		"new", "folder link/file",
	} {
		if err := d.Write(name, []byte("mine"), 0o600); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		must.Equal(t, string(must.Get(d.Read(name, 100))(t)), "mine", name)
	}
	for _, name := range append(outOf, "inner") {
		must.Fail(t, d.Write(name, []byte("mine"), 0o600), name, "it was written")
	}
	for _, name := range []string{outside, hard} {
		must.Equal(t, must.Read(t, name), secret, name)
	}
	noneTemporary(t, d)
}

func TestAStateIsReplaced(t *testing.T) {
	d, outside := folder(t)
	for _, name := range []string{"absolute link", "inner/file"} {
		must.Succeed(t, d.WriteState(name, []byte("mine"), 0o600))
		must.Equal(t, string(must.Get(d.Read(name, 100))(t)), "mine", name)
	}
	must.Equal(t, must.Read(t, outside), secret)
	noneTemporary(t, d)
}

// noneTemporary checks that no temporary file is left.
func noneTemporary(t *testing.T, d *foreign.Dir) {
	t.Helper()
	must.Succeed(t, d.Walk(t.Context(), 100, func(name string, _ fs.DirEntry) error {
		if strings.HasPrefix(filepath.Base(name), ".") {
			t.Errorf("%s was left", name)
		}
		return nil
	}))
}

func TestAFileIsReplacedWholeOrNotAtAll(t *testing.T) {
	d, _ := folder(t)
	broken := errors.New("broken")
	err := d.Replace("plain", 0o600, func(to io.Writer) error {
		_, err := io.WriteString(to, "half")
		return errors.Join(err, broken)
	})
	must.Is(t, err, broken, "a write that fails")
	must.Equal(t, string(must.Get(d.Read("plain", 100))(t)), "plain")
	noneTemporary(t, d)
}

func TestAFileWithAnotherNameIsNotWrittenTo(t *testing.T) {
	d, _ := folder(t)
	var kind *foreign.KindError
	if _, err := d.OpenFile("twice", os.O_WRONLY|os.O_TRUNC, 0o600); !errors.As(err, &kind) {
		t.Errorf("a hard link: %v", err)
	}
	if text, err := os.ReadFile(d.Path("twice")); err != nil || string(text) != secret { // O_TRUNC comes after the check
		t.Errorf("%q, %v", text, err)
	}
	f, err := d.OpenFile("plain", os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	must.Succeed(t, err)
	_, err = f.WriteString(", and more")
	must.Succeed(t, errors.Join(err, f.Close()))
	if text, err := d.Read("plain", 100); err != nil || string(text) != "plain, and more" || f.Name() != d.Path("plain") {
		t.Errorf("%q, %v", text, err)
	}
	must.Is(t, must.ErrorOf(d.OpenFile("plain", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)), fs.ErrExist,
		"a file that is there")
	must.Is(t, must.ErrorOf(d.OpenFile("dangling link", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)), fs.ErrExist,
		"a link that is there")
	must.Is(t, must.ErrorOf(d.OpenFile("new", os.O_WRONLY, 0o600)), fs.ErrNotExist, "a file that is not there")
	made := must.Get(d.OpenFile("new", os.O_RDWR|os.O_CREATE, 0o640))(t)
	info := must.Get(made.Stat())(t)
	must.Equal(t, info.Mode().Perm()&^0o640, 0)
	must.Equal(t, made.Name(), d.Path("new"))
	must.Succeed(t, made.Close())
}

func TestAFIFOIsOpenedWithoutItsOtherEnd(t *testing.T) {
	d, _ := folder(t)
	var kind *foreign.KindError
	for _, name := range []string{"plain", "link", "absolute link", "inner", "socket"} {
		if _, err := d.OpenFIFO(name, os.O_RDWR); !errors.As(err, &kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must.Is(t, must.ErrorOf(d.OpenFIFO("fifo", os.O_WRONLY)), unix.ENXIO, "a FIFO without a reader")
	r, err := d.OpenFIFO("fifo", os.O_RDONLY)
	must.Succeed(t, err)
	w := must.Get(d.OpenFIFO("fifo", os.O_WRONLY))(t)
	_, err = w.WriteString("piped")
	must.Succeed(t, errors.Join(err, w.Close()))
	must.Equal(t, string(must.Get(io.ReadAll(r))(t)), "piped")
	must.Succeed(t, r.Close())
}

func TestAFileIsMadeEmpty(t *testing.T) {
	d, _ := folder(t)
	for _, name := range []string{"plain", "new"} {
		must.Succeed(t, d.Touch(name, 0o600))
		must.Len(t, must.Get(d.Read(name, 100))(t), 0, name)
	}
	var kind *foreign.KindError
	for _, name := range []string{"absolute link", "twice", "fifo"} {
		if err := d.Touch(name, 0o600); !errors.As(err, &kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFileHasOneWriter(t *testing.T) {
	d, _ := folder(t)
	var files [2]*os.File
	for i := range files {
		f := must.Get(d.OpenFile("lock", os.O_RDWR|os.O_CREATE, 0o600))(t)
		files[i] = f
	}
	must.Succeed(t, foreign.Lock(files[0]))
	must.Is(t, foreign.Lock(files[1]), foreign.ErrInUse, "the second")
	must.Succeed(t, files[0].Close())
	must.Equal(t, foreign.Lock(files[1]), nil, "after the first has gone")
	must.Succeed(t, files[1].Close())
}

func TestEntriesAreRenamedAndRemovedByTheirNames(t *testing.T) {
	d, outside := folder(t)
	must.Succeed(t, errors.Join(
		d.Rename("plain", "absolute link"), d.Remove("link out"), d.RemoveAll("parent"), d.RemoveAll("magic"),
		d.MkdirAll("a/b", 0o700), d.RemoveAll("a"), d.RemoveAll("nothing"),
	))
	must.Equal(t, string(must.Get(d.Read("absolute link", 100))(t)), "plain")
	for _, name := range []string{"link out", "parent", "magic", "a"} {
		must.Is(t, must.ErrorOf(d.Describe(name)), fs.ErrNotExist, name)
	}
	must.Get(os.Stat(outside))(t)
	for what, err := range map[string]error{
		"rename":     d.Rename("twice", "../renamed"),
		"remove":     d.Remove("absolute parent/outside"),
		"remove all": d.RemoveAll("absolute parent/outside"),
		"make":       d.MkdirAll("absolute parent/made", 0o700),
	} {
		must.Fail(t, err, what, "it led out of the folder")
	}
}

func TestASocketIsDialledByItsName(t *testing.T) {
	d, _ := folder(t)
	for name, want := range map[string]string{
		"socket link": "a symbolic link", "plain": "a regular file", "fifo": "a FIFO", "inner": "a directory",
	} {
		var kind *foreign.KindError
		if _, err := d.Dial(t.Context(), name); !errors.As(err, &kind) || kind.Is != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	must.Is(t, must.ErrorOf(d.Dial(t.Context(), "nothing")), fs.ErrNotExist)
	conn := must.Get(d.Dial(t.Context(), "socket"))(t)
	must.Succeed(t, conn.Close())
}

// A path of more than 108 bytes has no socket address, and /proc/self/fd/N is short.
func TestASocketMayHaveALongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	must.Succeed(t, os.Mkdir(dir, 0o700))
	d, err := foreign.OpenDir(dir)
	must.Succeed(t, err)
	defer d.Close() //nolint:errcheck // it is only read
	l := must.Get(net.Listen("unix", filepath.Join(t.TempDir(), "s")))(t)
	must.Succeed(t, os.Rename(l.Addr().String(), d.Path("s")))
	conn := must.Get(d.Dial(t.Context(), "s"))(t)
	must.Succeed(t, errors.Join(conn.Close(), l.Close()))
	_, err = d.Dial(t.Context(), "s")
	if !errors.Is(err, unix.ECONNREFUSED) || !strings.Contains(err.Error(), d.Path("s")) {
		t.Errorf("nobody listens: %v", err)
	}
}

// Link replaces the entry that has the name, and does not touch the target of that entry.
func TestLink(t *testing.T) {
	d, outside := folder(t)
	for _, name := range []string{"new", "plain", "absolute link"} {
		must.Succeed(t, d.Link(name, "anywhere"))
		must.Equal(t, must.Get(os.Readlink(d.Path(name)))(t), "anywhere", name, "leads to")
	}
	must.Fail(t, d.Link("inner", "anywhere"), "a folder was replaced")
	must.Equal(t, must.Read(t, outside), secret)
	if left, _ := filepath.Glob(d.Path(".*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
