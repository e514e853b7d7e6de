package foreign

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// MakeFIFO makes a FIFO in the folder. It opens nothing.
func (d *Dir) MakeFIFO(name string, perm fs.FileMode) error {
	return d.mknod(name, unix.S_IFIFO|uint32(perm.Perm()), 0)
}

// OpenLinkedFIFO opens the FIFO to which a link of /proc/PID/fd leads, for reading.
func OpenLinkedFIFO(link string) (*os.File, error) {
	f, err := os.OpenFile(link, unix.O_PATH, 0)
	if err != nil {
		return nil, err
	}
	h, err := handleOf(f, link)
	if err != nil {
		return nil, err
	}
	defer h.close()
	return h.fifo(unix.O_RDONLY)
}

// MakeDevice makes a character device in the folder. It opens nothing.
func (d *Dir) MakeDevice(name string, major, minor uint32, perm fs.FileMode) error {
	return d.mknod(name, unix.S_IFCHR|uint32(perm.Perm()), unix.Mkdev(major, minor))
}

// Readlink returns the target of a symbolic link in the folder.
func (d *Dir) Readlink(name string) (string, error) {
	target, err := d.root.Readlink(name)
	return target, named("read the link", d.Path(name), err)
}

// Chmod sets the permissions of an entry, whatever the umask is. It follows no link.
func (d *Dir) Chmod(name string, perm fs.FileMode) error {
	return named("set the permissions of", d.Path(name), d.root.Chmod(name, perm))
}

func (d *Dir) mknod(name string, mode uint32, dev uint64) error {
	parent, err := d.root.OpenFile(filepath.Dir(name), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err == nil {
		err = errors.Join(unix.Mknodat(int(parent.Fd()), filepath.Base(name), mode, int(dev)), parent.Close())
	}
	return named("make", d.Path(name), err)
}
