package iopressure

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNoLoop reports that no loop device is available. The text says what to do.
var ErrNoLoop = errors.New("no loop device")

// tries bounds the race for a free device: another process may take the device that the
// kernel has named.
const tries = 64

// attach puts file behind a free loop device and returns the open device. The kernel
// detaches it at the last close or umount (LO_FLAGS_AUTOCLEAR, loop(4)). LOOP_CONFIGURE
// (Linux 5.8) attaches the file and sets that flag in one step, so a SIGKILL never leaves
// a device behind.
func attach(file *os.File) (*os.File, error) {
	ctl, err := openControl()
	if err != nil {
		return nil, err
	}
	defer func() { _ = ctl.Close() }()
	config := unix.LoopConfig{Fd: uint32(file.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}}
	copy(config.Info.File_name[:len(config.Info.File_name)-1], filepath.Base(file.Name()))
	for range tries {
		n, err := nextFree(ctl)
		if err != nil {
			return nil, err
		}
		dev, err := openLoop(n)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoLoop, err)
		}
		err = unix.IoctlLoopConfigure(int(dev.Fd()), &config)
		if err == nil {
			return dev, nil
		}
		_ = dev.Close() // nothing is attached to it by us
		if !errors.Is(err, unix.EBUSY) {
			return nil, fmt.Errorf(
				"%w: %s: %w (Linux 5.8 or newer is needed)",
				ErrNoLoop,
				dev.Name(),
				os.NewSyscallError("LOOP_CONFIGURE", err),
			)
		}
	}
	return nil, fmt.Errorf(
		"%w: another process took the free device %d times in a row: run fewer cases at a time",
		ErrNoLoop,
		tries,
	)
}

func openControl() (*os.File, error) {
	ctl, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w: modprobe loop, and run as root with the host's /dev", ErrNoLoop, err)
	}
	return ctl, nil
}

func nextFree(ctl *os.File) (int, error) {
	n, err := unix.IoctlRetInt(int(ctl.Fd()), unix.LOOP_CTL_GET_FREE)
	if err != nil {
		err = os.NewSyscallError("LOOP_CTL_GET_FREE", err)
		return 0, fmt.Errorf("%w: %w: list those in use with losetup -a", ErrNoLoop, err)
	}
	return n, nil
}

// freeLoop returns an error if the kernel has no free loop device, or if it cannot be
// opened. It attaches nothing.
func freeLoop() error {
	ctl, err := openControl()
	if err != nil {
		return err
	}
	defer func() { _ = ctl.Close() }() // nothing was written
	n, err := nextFree(ctl)
	if err != nil {
		return err
	}
	dev, err := openLoop(n)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoLoop, err)
	}
	return dev.Close()
}

// openLoop opens /dev/loopN, and creates the node if the kernel does not maintain /dev
// (in a container).
func openLoop(n int) (*os.File, error) {
	path := fmt.Sprintf("/dev/loop%d", n)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	dev, err := devOf(path)
	if err != nil {
		return nil, err
	}
	d, err := parseDev(dev)
	if err != nil {
		return nil, err
	}
	err = unix.Mknod(path, unix.S_IFBLK|0o600, int(unix.Mkdev(uint32(d.major), uint32(d.minor))))
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, &fs.PathError{Op: "mknod", Path: path, Err: err}
	}
	return os.OpenFile(path, os.O_RDWR, 0)
}

// devOf returns the MAJOR:MINOR of /dev/loopN. The minor is not always N: the loop
// module's max_part reserves numbers for partitions.
func devOf(path string) (string, error) {
	b, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(path), "dev"))
	if err != nil {
		return "", fmt.Errorf("device number of %s: %w", path, err)
	}
	return strings.TrimSpace(string(b)), nil
}

// backingOf returns the file behind a loop device, or "" if dev is free or no loop
// device.
func backingOf(dev string) string {
	b, err := os.ReadFile(filepath.Join("/sys/dev/block", dev, "loop/backing_file"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSpace(string(b)), " (deleted)")
}
