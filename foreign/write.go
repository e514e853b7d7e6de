package foreign

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Write writes a file in place of whatever has its name: see [Dir.Replace].
func (d *Dir) Write(name string, data []byte, perm fs.FileMode) error {
	return d.Replace(name, perm, writing(data))
}

func writing(data []byte) func(io.Writer) error {
	return func(to io.Writer) error {
		_, err := to.Write(data)
		return err
	}
}

// Replace writes a new file, and renames it to its name when it is whole: a reader finds
// the earlier file or this one. A symbolic link that has the name is replaced, and never
// followed. The file has perm, less the umask.
func (d *Dir) Replace(name string, perm fs.FileMode, write func(io.Writer) error) error {
	return d.replace(name, perm, write, func(*os.File) error { return nil })
}

// WriteState is Write of a file that must survive a power cut. The content is on the disk
// before the file gets its name, and the name is on it before WriteState returns.
func (d *Dir) WriteState(name string, data []byte, perm fs.FileMode) error {
	if err := d.replace(name, perm, writing(data), (*os.File).Sync); err != nil {
		return err
	}
	dir, err := d.root.OpenFile(filepath.Dir(name), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return named("open", d.Path(name), err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (d *Dir) replace(name string, perm fs.FileMode, write func(io.Writer) error, sync func(*os.File) error) error {
	dir, base := filepath.Split(name)
	temp := dir + "." + base + "." + rand.Text()
	f, err := d.create(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	if err = write(b); err == nil {
		err = b.Flush()
	}
	if err == nil {
		err = sync(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", d.Path(name), err), d.Remove(temp))
	}
	return nil
}

// OpenFile opens a regular file for writing, with the flags of package os. A symbolic
// link is a [KindError], and so is a file that has another name elsewhere (a hard link).
func (d *Dir) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	for {
		f, err := d.openFile(name, flag, perm)
		if flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE && errors.Is(err, fs.ErrExist) {
			continue // it was made after the check
		}
		return f, err
	}
}

func (d *Dir) openFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	isExclusive := flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL
	h, err := d.handle(name)
	if errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0 {
		return d.create(name, flag|os.O_EXCL, perm)
	}
	if err != nil {
		return nil, err
	}
	defer h.close()
	if isExclusive {
		return nil, &fs.PathError{Op: "open", Path: h.path, Err: fs.ErrExist}
	}
	if err := h.oneName(); err != nil {
		return nil, err
	}
	return h.file(flag &^ (os.O_CREATE | os.O_EXCL))
}

// create makes a file that does not exist yet, and follows no link (os.O_EXCL).
func (d *Dir) create(name string, flag int, perm fs.FileMode) (*os.File, error) {
	f, err := d.root.OpenFile(name, flag, perm)
	if err != nil {
		return nil, named("open", d.Path(name), err)
	}
	h, err := handleOf(f, d.Path(name)) // errors name the path
	if err != nil {
		return nil, err
	}
	defer h.close()
	return h.file(flag &^ (os.O_CREATE | os.O_EXCL))
}

// Touch makes an empty file, or empties the existing one: see [Dir.OpenFile].
func (d *Dir) Touch(name string, perm fs.FileMode) error {
	f, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	return f.Close()
}

// OpenFIFO opens a FIFO with the flags of os.OpenFile, and does not wait for its other
// end. A writer of a FIFO without a reader gets ENXIO. Another kind of entry is a
// [KindError].
func (d *Dir) OpenFIFO(name string, flag int) (*os.File, error) {
	h, err := d.handle(name)
	if err != nil {
		return nil, err
	}
	defer h.close()
	return h.fifo(flag)
}

func (h *handle) fifo(flag int) (*os.File, error) {
	if h.Mode()&fs.ModeNamedPipe == 0 {
		return nil, h.isNot("a FIFO")
	}
	return h.open(flag | unix.O_NONBLOCK)
}

// ErrInUse is the error if another process holds the lock of a file.
var ErrInUse = errors.New("another process is writing to it")

// Lock locks a file until it is closed. It does not wait, but returns [ErrInUse]. The
// kernel releases the lock when the process ends, however it ends.
func Lock(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	cerr := conn.Control(func(fd uintptr) {
		for err = unix.EINTR; errors.Is(err, unix.EINTR); err = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB) {
		}
	})
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrInUse
	}
	if err = errors.Join(cerr, err); err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil
}
