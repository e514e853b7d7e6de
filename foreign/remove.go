package foreign

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// RemoveAll removes an entry with all that it holds. It follows no link. A mount point in
// the tree is an error, and its content stays. However deep the tree is, RemoveAll holds
// three open folders.
func (d *Dir) RemoveAll(name string) error {
	base := filepath.Base(name)
	if !filepath.IsLocal(name) || base == "." || base == ".." {
		return named("remove", d.Path(name), unix.EINVAL)
	}
	parent, err := d.root.OpenFile(filepath.Dir(name), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err == nil {
		err = errors.Join(removeAll(parent, base), parent.Close())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return named("remove", d.Path(name), err)
}

func removeAll(parent *os.File, name string) error {
	for {
		isFull, err := remove(parent, name)
		if err != nil || !isFull {
			return err
		}
		top, err := openFolder(parent, name)
		if err != nil {
			return err
		}
		n, err := empty(top, top)
		if err == nil && n == 0 {
			err = unix.ENOTEMPTY // the folder has an entry that it does not list
		}
		if err = errors.Join(err, top.Close()); err != nil {
			return err
		}
	}
}

// empty removes the entries of in, and returns how many it found. Folders that are not
// empty stay in top, for the next call: empty removes what they hold, and moves those in
// them to top.
func empty(in, top *os.File) (n int, first error) {
	for {
		names, err := in.Readdirnames(1024)
		if errors.Is(err, io.EOF) {
			return n, first
		}
		if err != nil {
			return n, err
		}
		n += len(names)
		for _, name := range names {
			isFull, err := remove(in, name)
			if isFull && in != top {
				err = unix.Renameat(int(in.Fd()), name, int(top.Fd()), rand.Text())
			} else if isFull {
				var sub *os.File
				if sub, err = openFolder(top, name); err == nil {
					_, err = empty(sub, top)
					err = errors.Join(err, sub.Close())
				}
			}
			first = cmp.Or(first, err)
		}
	}
}

// remove removes an entry, and reports whether it is a folder that is not empty.
func remove(in *os.File, name string) (isFull bool, err error) {
	err = unix.Unlinkat(int(in.Fd()), name, 0)
	if errors.Is(err, unix.EISDIR) {
		err = unix.Unlinkat(int(in.Fd()), name, unix.AT_REMOVEDIR)
	}
	if errors.Is(err, unix.ENOTEMPTY) {
		return true, nil
	}
	return false, err
}

// openFolder opens a folder that is on the same mount.
func openFolder(in *os.File, name string) (*os.File, error) {
	fd, err := Openat2(int(in.Fd()), name, unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Openat2 calls openat2(2) until no signal and no rename disturbs it.
func Openat2(dir int, name string, how unix.OpenHow) (fd int, err error) {
	for {
		fd, err = unix.Openat2(dir, name, &how)
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) { // EAGAIN: a rename raced with the lookup
			return fd, err
		}
	}
}
