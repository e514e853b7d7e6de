package foreign_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/must"
)

func TestALargeFileIsNotRead(t *testing.T) {
	d, _ := folder(t)
	var limit *foreign.LimitError
	if _, err := d.Read("sparse", 64<<20); !errors.As(err, &limit) || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("a sparse file of 1 TiB: %v", err)
	}
	if _, err := d.Open("sparse", 64<<20); !errors.As(err, &limit) {
		t.Errorf("it was opened: %v", err)
	}
	if _, err := d.Read("plain", 4); !errors.As(err, &limit) || limit.Most != 4 ||
		!strings.Contains(err.Error(), "4 bytes") {
		t.Errorf("5 bytes, at most 4: %v", err)
	}
	must.Equal(t, string(must.Get(d.Read("plain", 5))(t)), "plain", "5 bytes, at most 5")
	if text, cut, err := d.Tail("sparse", 16); err != nil || !bytes.Equal(text, make([]byte, 16)) || cut != 1<<40-16 {
		t.Errorf("%q, %d, %v", text, cut, err)
	}
	if text, cut, err := d.Tail("plain", 2); err != nil || string(text) != "in" || cut != 3 {
		t.Errorf("%q, %d, %v", text, cut, err)
	}
	if text, cut, err := d.Tail("plain", 9); err != nil || string(text) != "plain" || cut != 0 {
		t.Errorf("%q, %d, %v", text, cut, err)
	}
}

func TestAFileThatGrowsIsNotReadPastTheLimit(t *testing.T) {
	d, _ := folder(t)
	f := must.Get(d.Open("plain", 6))(t)
	defer f.Close() //nolint:errcheck // it is only read
	must.Succeed(t, os.WriteFile(d.Path("plain"), []byte("not plain any more"), 0o600))
	var limit *foreign.LimitError
	if text, err := io.ReadAll(f); !errors.As(err, &limit) || string(text) != "not pl" {
		t.Errorf("%q, %v", text, err)
	}
	part := make([]byte, 9)
	if n, err := f.ReadAt(part, 4); !errors.As(err, &limit) || string(part[:n]) != "pl" {
		t.Errorf("%q, %v", part[:n], err)
	}
	if n, err := f.ReadAt(part[:2], 4); err != nil || string(part[:n]) != "pl" {
		t.Errorf("%q, %v", part[:n], err)
	}
	if n, err := f.ReadAt(part, 1<<40); !errors.As(err, &limit) && !errors.Is(err, io.EOF) || n > 0 {
		t.Errorf("%d, %v", n, err)
	}
}

// The kernel's files have no size, and are read to their end.
func TestAFileOfProcIsRead(t *testing.T) {
	d := must.Get(foreign.OpenDir("/proc/self"))(t)
	defer d.Close() //nolint:errcheck // it is only read
	must.Contain(t, string(must.Get(d.Read("status", 1<<20))(t)), "Pid:")
	var limit *foreign.LimitError
	if _, err := d.Read("status", 10); !errors.As(err, &limit) {
		t.Errorf("at most 10 bytes: %v", err)
	}
}

// A name changes between a file and a link, and the link is never followed.
func TestASwappedLinkIsNotFollowed(t *testing.T) {
	d, outside := folder(t)
	must.Succeed(t, errors.Join(
		os.Symlink(outside, d.Path("bad")), os.WriteFile(d.Path("good"), []byte("good"), 0o600),
		os.WriteFile(d.Path("swapped"), nil, 0o600),
	))
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			for _, other := range []string{"bad", "good"} {
				if err := unix.Renameat2(unix.AT_FDCWD, d.Path(other), unix.AT_FDCWD, d.Path("swapped"),
					unix.RENAME_EXCHANGE); err != nil {
					done <- err
					return
				}
			}
		}
	}()
	for range 2000 {
		if text, err := d.Read("swapped", 100); err == nil && string(text) == secret {
			t.Fatal("the target of a link was read")
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestATypedPathIsFollowed(t *testing.T) {
	d, outside := folder(t)
	for _, name := range []string{"link", "plain", "link out", "absolute link", "parent/outside"} {
		must.Equal(t, must.ErrorOf(foreign.ReadTyped(d.Path(name), 1<<20)), nil, name)
	}
	var kind *foreign.KindError
	for _, name := range []string{"fifo", "socket", "inner", "link to a device"} {
		if _, err := foreign.ReadTyped(d.Path(name), 1<<20); !errors.As(err, &kind) || kind.Name != d.Path(name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var limit *foreign.LimitError
	for _, name := range []string{d.Path("sparse"), outside} {
		if _, err := foreign.ReadTyped(name, 8); !errors.As(err, &limit) || limit.Name != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	must.Is(t, must.ErrorOf(foreign.ReadTyped(filepath.Join(d.Name(), "nothing"), 8)), os.ErrNotExist)
}

// A shell gives a command the output of another one as /dev/fd/63.
func TestAPipeOfTheShellIsRead(t *testing.T) {
	for _, most := range []int64{4, 5} {
		r, w, err := os.Pipe()
		must.Succeed(t, err)
		_, err = w.WriteString("piped")
		must.Succeed(t, errors.Join(err, w.Close()))
		name := "/dev/fd/" + filepath.Base(descriptor(t, r))
		text, err := foreign.ReadTyped(name, most)
		var limit *foreign.LimitError
		if most == 5 && (err != nil || string(text) != "piped") || most == 4 && !errors.As(err, &limit) {
			t.Errorf("at most %d: %q, %v", most, text, err)
		}
		must.Succeed(t, r.Close())
	}
}

func descriptor(t *testing.T, f *os.File) (path string) {
	t.Helper()
	conn := must.Get(f.SyscallConn())(t)
	must.Succeed(t, conn.Control(func(fd uintptr) { path = filepath.Join("/proc/self/fd", strconv.Itoa(int(fd))) }))
	return path
}

// Reopen uses the descriptor, and not the name.
func TestAHandleIsReopened(t *testing.T) {
	d, _ := folder(t)
	h := must.Get(os.OpenFile(d.Path("plain"), unix.O_PATH, 0))(t)
	defer h.Close() //nolint:errcheck // it is only read
	must.Succeed(t, os.Remove(d.Path("plain")))
	f := must.Get(foreign.Reopen(h, 5))(t)
	must.Equal(t, string(must.Get(io.ReadAll(f))(t)), "plain")
	must.Succeed(t, f.Close())
}

// The files of a node, and what the operator named, may have several names.
func TestATypedFileMayHaveSeveralNames(t *testing.T) {
	d, _ := folder(t)
	must.Equal(t, string(must.Get(foreign.ReadTyped(d.Path("twice"), 100))(t)), secret, "typed")
	h := must.Get(os.OpenFile(d.Path("twice"), unix.O_PATH, 0))(t)
	f := must.Get(foreign.Reopen(h, 100))(t)
	must.Succeed(t, errors.Join(f.Close(), h.Close()))
}
