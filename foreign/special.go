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
	parent, err := d.root.OpenFile(filepath.Dir(name), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err == nil {
		err = unix.Mkfifoat(int(parent.Fd()), filepath.Base(name), uint32(perm.Perm()))
		err = errors.Join(err, parent.Close())
	}
	return named("make", d.Path(name), err)
}

// OpenLinkedFIFO opens the FIFO to which a link of /proc/PID/fd leads, for reading.
func OpenLinkedFIFO(link string) (*os.File, error) {
	h, err := handleAt(link, 0)
	if err != nil {
		return nil, err
	}
	defer h.close()
	return h.fifo(unix.O_RDONLY)
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
