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

	"github.com/shimquake/shimquake/child"
)

// MinDiskMiB is the least that NewDisk takes: the journal alone is 4 MiB.
const MinDiskMiB = 16

const diskPrefix = "shimquake-disk-"

// Disk is a loop device that carries an ext4 and belongs to this process until it is
// mounted. Nothing of it has a name on the host: the backing file is unlinked, and the
// device detaches itself when the last mount and the last fd are gone.
type Disk struct {
	Path string // /dev/loopN, to be mounted as FSType
	Dev  string // MAJOR:MINOR, for Target
	file *os.File
}

// FSType is the filesystem on a Disk.
const FSType = "ext4"

// NewDisk makes a sparse file of sizeMiB in dir, an ext4 on it and a loop device for
// it, in some 20 ms. dir must have room for what will be written. It returns ErrNoLoop
// when no loop device can be had. The caller mounts Path, then calls Close.
func NewDisk(ctx context.Context, dir string, sizeMiB int) (_ *Disk, err error) {
	if sizeMiB < MinDiskMiB {
		return nil, fmt.Errorf("make a disk of %d MiB: want at least %d", sizeMiB, MinDiskMiB)
	}
	f, err := os.CreateTemp(dir, diskPrefix)
	if err != nil {
		return nil, fmt.Errorf("make a disk: %w", err)
	}
	// Gone by name on every way out; the loop device holds the file itself.
	defer func() { err = errors.Join(err, os.Remove(f.Name()), f.Close()) }()
	if err := f.Truncate(int64(sizeMiB) << 20); err != nil {
		return nil, fmt.Errorf("make a disk: %w", err)
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
		err = freshen(d.Dev)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a disk: %w", err), d.Close())
	}
	return d, nil
}

// Close lets go of the device: it lives on if it is mounted, and is detached if not.
// A second Close does nothing.
func (d *Disk) Close() error {
	err := d.file.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// freshen frees a loop device from a limit that an earlier, SIGKILLed owner left on it.
// V1 keeps limits by device number; V2 keeps them with a group, which is each world's
// own.
func freshen(dev string) error {
	h, err := detect()
	if err != nil || h.mode != V1 {
		return nil // no controller: no limits
	}
	d, err := parseDev(dev)
	if err != nil {
		return err
	}
	r := Record{Mode: V1, Dev: dev, Group: h.root}
	switch bps, err := r.inForce(); {
	case errors.Is(err, ErrNoController), err == nil && bps == 0:
		return nil
	case err != nil:
		return err
	}
	return r.write(d, 0)
}

// isDisk reports whether a backing file is that of a Disk.
func isDisk(backing string) bool {
	return strings.HasPrefix(filepath.Base(backing), diskPrefix)
}

// ErrNoMkfs says that no filesystem can be made on a disk.
var ErrNoMkfs = errors.New("mkfs.ext4 is missing: install it (apt-get install e2fsprogs)")

func findMkfs() (string, error) {
	path, err := exec.LookPath("mkfs.ext4")
	if err != nil {
		// Debian's root has it where a user's PATH does not look.
		if path, err = exec.LookPath("/usr/sbin/mkfs.ext4"); err != nil {
			return "", fmt.Errorf("%w (%w)", ErrNoMkfs, err)
		}
	}
	return path, nil
}

// Available reports whether a disk can be put under pressure here: ErrNoController,
// ErrNoLoop or ErrNoMkfs if not. The errors say what to do.
func Available() error {
	if _, err := Detect(); err != nil {
		return err
	}
	if _, err := findMkfs(); err != nil {
		return err
	}
	return freeLoop()
}

// mkfs is quick because nothing is written but metadata, and complete: the inode tables
// are initialised now (in a sparse file that costs nothing), or the kernel's lazy
// initialisation would use up the throttled bandwidth later. The journal stays, as on a
// customer's disk; what umount flushes is data either way.
func mkfs(ctx context.Context, file string) error {
	path, err := findMkfs()
	if err != nil {
		return err
	}
	// Left to itself, mkfs waits up to 4 s for the kernel's random numbers, once and
	// again, in a VM that has just booted and has no virtio-rng.
	cmd := child.Command(ctx, path, "-q", "-F", "-b", "4096", "-m", "0", "-J", "size=4", "-O", "^resize_inode",
		"-U", uuid(), "-E", "lazy_itable_init=0,lazy_journal_init=1,nodiscard,hash_seed="+uuid(), file)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mkfs.ext4: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// uuid is a random UUID (version 4, RFC 9562) that guards nothing: it keeps the disks of
// one host apart in /dev/disk/by-uuid.
func uuid() string {
	a, b := rand.Uint64(), rand.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x",
		a>>32, a>>16&0xffff, a&0xfff, b>>48&0x3fff|0x8000, b&0xffffffffffff)
}
