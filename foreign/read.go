package foreign

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// File is a regular file that is read.
type File struct {
	file *os.File
	left int64 // how much may still be read
	most int64
}

// Open opens a regular file for reading. A file of more than most bytes is a
// [LimitError], also when it grows past them while it is read. A file that has another
// name elsewhere (a hard link) is a [KindError].
func (d *Dir) Open(name string, most int64) (*File, error) {
	h, err := d.handle(name)
	if err != nil {
		return nil, err
	}
	defer h.close()
	if err := h.oneName(); err != nil {
		return nil, err
	}
	return h.read(most)
}

// Reopen opens a file for reading that was opened with O_PATH. It is for a caller that
// resolves paths by rules of its own. The file may have several names: on some systems
// all files of a node are hard links (OSTree, Nix). The caller closes f, too.
func Reopen(f *os.File, most int64) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return (&handle{f, info, f.Name()}).read(most)
}

func (h *handle) read(most int64) (*File, error) {
	f, err := h.file(unix.O_RDONLY | unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	if h.Size() > most {
		return nil, errors.Join(&LimitError{Name: h.path, Most: most, Unit: Bytes}, f.Close())
	}
	return &File{file: f, left: most, most: most}, nil
}

// Read reads the next bytes. It returns an error if the file has nothing to read yet.
// /proc/kmsg, for example, says that it is a regular file, but a read of it waits.
func (f *File) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	conn, err := f.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	cerr := conn.Read(func(fd uintptr) bool { // os.File.Read would wait
		for err = unix.EINTR; errors.Is(err, unix.EINTR); {
			n, err = unix.Read(int(fd), p)
		}
		return true
	})
	switch err = errors.Join(cerr, err); {
	case err != nil:
		return 0, &fs.PathError{Op: "read", Path: f.Name(), Err: err}
	case n == 0:
		return 0, io.EOF
	case int64(n) > f.left:
		n, f.left = int(f.left), 0
		return n, f.tooLong()
	}
	f.left -= int64(n)
	return n, nil
}

// ReadAt reads bytes at an offset, up to the limit.
func (f *File) ReadAt(p []byte, off int64) (n int, err error) {
	if most := max(0, f.most-off); int64(len(p)) > most {
		if n, err = f.file.ReadAt(p[:most], off); err == nil {
			err = f.tooLong()
		}
		return n, err
	}
	return f.file.ReadAt(p, off)
}

func (f *File) tooLong() error { return &LimitError{Name: f.Name(), Most: f.most, Unit: Bytes} }

// Name returns the file's path.
func (f *File) Name() string { return f.file.Name() }

// Stat describes the file.
func (f *File) Stat() (fs.FileInfo, error) { return f.file.Stat() }

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Read returns what a regular file holds. More than most bytes are a [LimitError].
func (d *Dir) Read(name string, most int64) ([]byte, error) {
	f, err := d.Open(name, most)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(f)
	return text, errors.Join(err, f.Close())
}

// Tail returns the last bytes of a regular file, at most so many, and how many bytes
// stand before them.
func (d *Dir) Tail(name string, most int64) (text []byte, cut int64, err error) {
	h, err := d.handle(name)
	if err != nil {
		return nil, 0, err
	}
	defer h.close()
	if err := h.oneName(); err != nil {
		return nil, 0, err
	}
	f, err := h.read(h.Size())
	if err != nil {
		return nil, 0, err
	}
	cut = max(0, h.Size()-most)
	text, err = io.ReadAll(io.NewSectionReader(f.file, cut, min(most, h.Size())))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, 0, fmt.Errorf("read the end of %s: %w", h.path, err)
	}
	return text, cut, nil
}
