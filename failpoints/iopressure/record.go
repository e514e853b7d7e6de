package iopressure

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Record has all that Undo needs to lift a limit, even if its process was SIGKILLed. The
// kernel keeps the limit, on V1 even for the next user of the loop device.
type Record struct {
	Mode Mode   `json:"mode"`
	Dev  string `json:"dev"` // MAJOR:MINOR
	// Group is the folder of the group that holds the limit on V2, and Inode its number. On
	// V1 that is the root group.
	Group string `json:"group,omitempty"`
	Inode uint64 `json:"inode,omitempty"`
	BPS   int64  `json:"bps"` // bytes per second
	// Backing is the file behind Dev when that is a loop device.
	Backing string `json:"backing,omitempty"`
}

// Undo lifts the limit of a Record, and the waiting writes continue at full speed. It
// does nothing if the limit is lifted already, or if the device or the group no longer
// exists. It also does nothing if the limit has changed since, or if the loop device now
// has another world's disk.
func Undo(r Record) error {
	dev, err := parseDev(r.Dev)
	if err != nil {
		return err
	}
	if dev.major != loopMajor {
		return fmt.Errorf("lift the limit on %s: it is no loop device", r.Dev)
	}
	now, err := r.inForce()
	if errors.Is(err, ErrNoController) {
		return nil // the group is gone, and its limit with it
	}
	if err != nil {
		return fmt.Errorf("lift the limit on %s: %w", r.Dev, err)
	}
	if now != r.BPS {
		return nil
	}
	if cur := backingOf(r.Dev); cur != r.Backing && isDisk(cur) {
		return nil
	}
	err = r.write(0)
	if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENXIO) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lift the limit on %s, which can be done by hand: %w", r.Dev, err)
	}
	return nil
}

// file returns the file with the write limits of the group. It returns ErrNoController if
// a V2 group is gone. The inode tells a group from a later one of the same name.
func (r Record) file() (string, error) {
	switch r.Mode {
	case V1:
		h, err := detect()
		if err == nil && h.mode != V1 {
			err = ErrNoController
		}
		return filepath.Join(h.root, v1File), err
	case V2:
		if inode, err := inodeOf(r.Group); err != nil || inode != r.Inode {
			return "", fmt.Errorf("%w: group %s is gone", ErrNoController, r.Group)
		}
		return filepath.Join(r.Group, "io.max"), nil
	}
	return "", fmt.Errorf("unknown mode %q", r.Mode)
}

// inodeOf returns the inode of a group. Another folder is an error.
func inodeOf(group string) (uint64, error) {
	var filesystem unix.Statfs_t
	if err := unix.Statfs(group, &filesystem); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: group, Err: err}
	}
	if filesystem.Type != unix.CGROUP2_SUPER_MAGIC {
		return 0, fmt.Errorf("%s is no cgroup", group)
	}
	var st unix.Stat_t
	if err := unix.Lstat(group, &st); err != nil {
		return 0, &fs.PathError{Op: "lstat", Path: group, Err: err}
	}
	return st.Ino, nil
}

// inForce returns the current write limit of the device; 0 means none.
func (r Record) inForce() (int64, error) {
	file, err := r.file()
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return 0, missingFile(file)
	}
	if err != nil {
		return 0, err
	}
	return limitOf(r.Dev, string(text))
}

// limitOf finds the write limit of dev in the text of blkio.throttle.write_bps_device
// ("7:0 4194304" per line) or io.max ("7:0 rbps=max wbps=4194304 riops=max wiops=max").
// It returns 0 if there is none.
func limitOf(dev, text string) (int64, error) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != dev {
			continue
		}
		value := f[1]
		if strings.Contains(value, "=") {
			value = "max"
			for _, kv := range f[1:] {
				if v, ok := strings.CutPrefix(kv, "wbps="); ok {
					value = v
				}
			}
		}
		if value == "max" {
			return 0, nil
		}
		bps, err := strconv.ParseInt(value, 10, 64)
		if err != nil || bps < 0 {
			return 0, fmt.Errorf("limit of %s: %q is not a number of bytes", dev, value)
		}
		return bps, nil
	}
	return 0, nil
}

type device struct{ major, minor int64 }

// loopMajor is LOOP_MAJOR of linux/major.h.
const loopMajor = 7

func parseDev(s string) (device, error) {
	a, b, ok := strings.Cut(s, ":")
	major, err1 := strconv.ParseUint(a, 10, 12) // 12 and 20 bits: MAJOR and MINOR of the kernel
	minor, err2 := strconv.ParseUint(b, 10, 20)
	// The kernel writes it without leading zeros, and limitOf compares texts.
	if !ok || err1 != nil || err2 != nil || fmt.Sprintf("%d:%d", major, minor) != s {
		return device{}, fmt.Errorf("device %q: want MAJOR:MINOR, such as 7:3", s)
	}
	return device{int64(major), int64(minor)}, nil
}
