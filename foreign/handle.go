package foreign

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// handle stands for an entry of any kind. It is opened with O_PATH, because opening a
// device for reading can already have an effect, and opening a FIFO waits.
type handle struct {
	*os.File
	fs.FileInfo
	path string
}

// handle returns a handle of an entry, and follows no link at the end of the name.
func (d *Dir) handle(name string) (*handle, error) {
	f, err := d.root.OpenFile(name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, named("open", d.Path(name), err)
	}
	return handleOf(f, d.Path(name))
}

// handleAt returns a handle of the entry to which a trusted path leads.
func handleAt(path string, flag int) (*handle, error) {
	f, err := os.OpenFile(path, unix.O_PATH|flag, 0)
	if err != nil {
		return nil, err
	}
	return handleOf(f, path)
}

// handleOf returns the handle of a file that was opened with O_PATH.
func handleOf(f *os.File, path string) (*handle, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(named("look at", path, err), f.Close())
	}
	return &handle{f, info, path}, nil
}

// close closes the handle. Nothing was opened for reading or writing that could fail.
func (h *handle) close() { _ = h.Close() }

// dir opens the folder that the handle stands for.
func (h *handle) dir() (*Dir, error) {
	if !h.IsDir() {
		return nil, h.isNot("a directory")
	}
	d := &Dir{path: h.path}
	err := h.by("open", func(path string) (err error) {
		d.root, err = os.OpenRoot(path)
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// oneName returns a KindError for a regular file with several names: one of them may be
// outside of the folder, such as /etc/shadow.
func (h *handle) oneName() error {
	if st, ok := h.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 && h.Mode().IsRegular() {
		return &KindError{Name: h.path, Is: "a file with several names (hard links)",
			Want: "a file with one: copy it to a new name"}
	}
	return nil
}

// file opens the regular file that the handle stands for.
func (h *handle) file(flag int) (f *os.File, err error) {
	if !h.Mode().IsRegular() {
		return nil, h.isNot("a regular file")
	}
	return h.open(flag)
}

func (h *handle) open(flag int) (f *os.File, err error) {
	err = h.by("open", func(path string) error {
		for {
			fd, err := unix.Open(path, flag|unix.O_CLOEXEC, 0)
			switch {
			case errors.Is(err, unix.EINTR):
				continue
			case err == nil:
				f = os.NewFile(uintptr(fd), h.path)
			}
			return err
		}
	})
	return f, err
}

// by calls use with a path that leads to the handle's entry, and to nothing else. Errors
// name the path that the handle was made for.
func (h *handle) by(op string, use func(path string) error) error {
	conn, err := h.SyscallConn()
	if err != nil {
		return err
	}
	cerr := conn.Control(func(fd uintptr) { err = use(fmt.Sprintf("/proc/self/fd/%d", fd)) })
	if cerr != nil {
		return cerr
	}
	return named(op, h.path, err)
}

func (h *handle) isNot(want string) error {
	return &KindError{Name: h.path, Is: kind(h.Mode()), Want: want}
}

// named returns an error of a system call with the path that the caller knows in it.
func named(op, path string, err error) error {
	var p *fs.PathError
	var errno unix.Errno
	switch {
	case errors.As(err, &p): // os.Root's refusals have no errno
		return &fs.PathError{Op: op, Path: path, Err: p.Err}
	case errors.As(err, &errno):
		return &fs.PathError{Op: op, Path: path, Err: errno}
	}
	return err
}
