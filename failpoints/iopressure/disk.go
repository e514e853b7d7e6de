package iopressure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/child"
)

// MinDiskMiB is the smallest size that NewDisk accepts: the journal alone is 4 MiB.
const MinDiskMiB = 16

const diskPrefix = "shimquake-disk-"

// Disk is a loop device with an ext4 that belongs to this process until it is mounted. It
// has no name on the host: the backing file is unlinked, and the device detaches itself
// after the last mount and the last fd.
type Disk struct {
	Path string // /dev/loopN, to be mounted as FSType
	Dev  string // MAJOR:MINOR, for Target
	file *os.File
}

// FSType is the filesystem on a Disk.
const FSType = "ext4"

// NewDisk makes a file of sizeMiB in dir, with an ext4 and a loop device, in some 20 ms.
// It reserves the space of the file. NewDisk returns ErrNoLoop if no loop device is
// available. The caller mounts Path, then calls Close.
func NewDisk(ctx context.Context, dir string, sizeMiB int) (_ *Disk, err error) {
	if sizeMiB < MinDiskMiB {
		return nil, fmt.Errorf("make a disk of %d MiB: want at least %d", sizeMiB, MinDiskMiB)
	}
	f, err := os.CreateTemp(dir, diskPrefix)
	if err != nil {
		return nil, fmt.Errorf("make a disk: %w", err)
	}
	// The name is removed on every return; the loop device holds the file itself.
	defer func() { err = errors.Join(err, os.Remove(f.Name()), f.Close()) }()
	if err := reserve(f, sizeMiB); err != nil {
		return nil, fmt.Errorf("make a disk of %d MiB in %s: %w", sizeMiB, dir, err)
	}
	if err := mkfs(ctx, f.Name()); err != nil {
		return nil, fmt.Errorf("make a disk: %w", err)
	}
	dev, err := attach(f)
	if err != nil {
		return nil, fmt.Errorf("make a disk: %w", err)
	}
	d := &Disk{Path: dev.Name(), file: dev}
	if d.Dev, err = devOf(d.Path); err == nil {
		err = liftOldLimit(d.Dev)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a disk: %w", err), d.Close())
	}
	return d, nil
}

// reserve gives a file its size and its blocks. A write to the loop device of a sparse
// file would fail, or wait without end, when the filesystem below is full.
func reserve(f *os.File, sizeMiB int) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return err
	}
	size := int64(sizeMiB) << 20
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP): // NFS
		return f.Truncate(size)
	case errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("%w: only %d MiB are free: make space, or set SHIMQUAKE_DIR to another folder",
			err, int64(st.Bavail)*st.Bsize>>20)
	}
	return err
}

// Close closes the device. The kernel detaches it, or keeps it until the unmount if it is
// mounted. A second Close does nothing.
func (d *Disk) Close() error {
	err := d.file.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// liftOldLimit lifts a limit that an earlier, SIGKILLed owner left on a loop device. V1
// keeps limits by device number. V2 keeps them with the group, and each world has a group
// of its own.
func liftOldLimit(dev string) error {
	h, err := detect()
	if err != nil || h.mode != V1 {
		return nil // no controller: no limits
	}
	r := Record{Mode: V1, Dev: dev}
	switch bps, err := r.inForce(); {
	case errors.Is(err, ErrNoController), err == nil && bps == 0:
		return nil
	case err != nil:
		return err
	}
	return r.write(0)
}

// isDisk reports whether a file is the backing file of a Disk.
func isDisk(backing string) bool {
	return strings.HasPrefix(filepath.Base(backing), diskPrefix)
}

// ErrNoMkfs reports that mkfs.ext4 is missing.
var ErrNoMkfs = errors.New("mkfs.ext4 is missing: install it (apt-get install e2fsprogs)")

func findMkfs() (string, error) {
	path, err := exec.LookPath("mkfs.ext4")
	if err != nil {
		// Debian installs it outside a user's PATH.
		if path, err = exec.LookPath("/usr/sbin/mkfs.ext4"); err != nil {
			return "", fmt.Errorf("%w (%w)", ErrNoMkfs, err)
		}
	}
	return path, nil
}

// Available returns ErrNoController, ErrNoLoop or ErrNoMkfs if a disk cannot be put under
// pressure here. The errors say what to do.
func Available() error {
	if _, err := detect(); err != nil {
		return err
	}
	if _, err := findMkfs(); err != nil {
		return err
	}
	return freeLoop()
}

// mkfs is quick because only metadata is written. The inode tables are initialised now,
// which costs little in a file without data: the kernel's lazy initialisation would use
// up the throttled bandwidth later. The journal stays, as on a customer's disk; umount
// flushes data either way.
func mkfs(ctx context.Context, file string) error {
	path, err := findMkfs()
	if err != nil {
		return err
	}
	// mkfs would wait up to 4 s for the kernel's random numbers, several times, in a VM
	// that has just booted without virtio-rng.
	cmd := child.Command(ctx, path, "-q", "-F", "-b", "4096", "-m", "0", "-J", "size=4", "-O", "^resize_inode",
		"-U", uuid(), "-E", "lazy_itable_init=0,lazy_journal_init=1,nodiscard,hash_seed="+uuid(), file)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mkfs.ext4: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// uuid returns a random UUID (version 4, RFC 9562). It only keeps the disks of one host
// apart in /dev/disk/by-uuid.
func uuid() string {
	a, b := rand.Uint64(), rand.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x",
		a>>32, a>>16&0xffff, a&0xfff, b>>48&0x3fff|0x8000, b&0xffffffffffff)
}
