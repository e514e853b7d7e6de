// Package iopressure injects the fault "the host is under IO pressure" with real writes.
// The filesystem under containerd's root is slow to write to, and another process has
// dirtied pages of it. An umount2 of an overlay on it then takes seconds
// (containerd#7496).
//
//	disk, _ := NewDisk(ctx, dir, 256)         // a loop device with an ext4
//	...the world mounts disk.Path...          // then disk.Close()
//	throttle, _ := Limit(ctx, Target{...})    // the block-IO cgroup controller
//	...DirtyArgs("/in/the/world/big", 20)...  // pages that nobody has synced
//	stalls, _ := Watch(ctx, "/proc", shim)    // proof: umount2 took 5 s in the shim
//	_ = Undo(*throttle)
//
// Why umount2 waits: overlayfs syncs the whole filesystem of its upper layer when it is
// unmounted (ovl_sync_fs), with the pages of other processes. An overlay mounted
// "volatile" does not sync it, and a filesystem without a backing device (tmpfs) has
// nothing to write.
package iopressure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// Mode is the generation of cgroups that throttles block IO on this host. On a hybrid
// host it is V1 if the block-IO controller is there.
type Mode string

// V1 throttles every process that writes to the device. V2 throttles the group of the
// process that dirtied the pages.
const (
	V1 Mode = "v1"
	V2 Mode = "v2"
)

// ErrNoController reports that block IO cannot be throttled here. The text names the
// missing part and what to do.
var ErrNoController = errors.New("no block-IO controller")

// v1File limits the bytes per second written to one device
// (Documentation/admin-guide/cgroup-v1/blkio-controller.rst).
const v1File = "blkio.throttle.write_bps_device"

// hierarchy is a mounted cgroup hierarchy with a block-IO controller.
type hierarchy struct {
	mode Mode
	root string // mount point: /sys/fs/cgroup/blkio, or /sys/fs/cgroup on V2
}

// detect returns how block IO can be throttled here, or ErrNoController.
func detect() (hierarchy, error) {
	// The cgroup mounts of a chroot or a container, elsewhere, are not the host's own.
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter("/sys/fs/cgroup"))
	if err != nil {
		return hierarchy{}, fmt.Errorf("look for the block-IO controller: %w", err)
	}
	return choose(mounts, func(file string) ([]string, error) {
		text, err := os.ReadFile(file)
		return strings.Fields(string(text)), err
	})
}

// choose returns the hierarchy to use, on a hybrid host the v1 one. controllers reads
// cgroup.controllers or cgroup.subtree_control of a v2 mount.
func choose(mounts []*mountinfo.Info, controllers func(file string) ([]string, error)) (hierarchy, error) {
	var reasons []string
	for _, mode := range []Mode{V1, V2} {
		for _, m := range mounts {
			if modeOf(m) != mode {
				continue
			}
			reason := lackV1(m)
			if mode == V2 {
				reason = lackV2(m.Mountpoint, controllers)
			}
			if reason == "" {
				return hierarchy{mode, m.Mountpoint}, nil
			}
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) == 0 {
		reasons = []string{"neither a v1 blkio hierarchy nor cgroup2 is mounted:" +
			" mount -t cgroup2 none /sys/fs/cgroup, or run on the host"}
	}
	return hierarchy{}, fmt.Errorf("%w: %s", ErrNoController, strings.Join(reasons, "; "))
}

// modeOf returns the mode of a mount that may throttle block IO, or "".
func modeOf(m *mountinfo.Info) Mode {
	switch {
	case m.FSType == "cgroup2":
		return V2
	case m.FSType == "cgroup" && slices.Contains(strings.Split(m.VFSOptions, ","), "blkio"):
		return V1
	}
	return ""
}

// lackV1 returns why a v1 mount cannot limit writes, and what to do; "" if it can.
func lackV1(m *mountinfo.Info) string {
	switch {
	case m.Root != "/": // writeback is charged to the root group
		return fmt.Sprintf("%s shows only the group %s, and v1 limits writeback only in the root group: "+
			"run on the host, not in a container", m.Mountpoint, m.Root)
	case filepath.Base(m.Mountpoint) != "blkio": // runc expects this name
		return fmt.Sprintf("%s is the v1 controller under an unusual name: mount it as %s",
			m.Mountpoint, filepath.Join(filepath.Dir(m.Mountpoint), "blkio"))
	}
	return ""
}

// lackV2 returns why the groups below a v2 mount cannot be limited, and what to do; "" if
// they can be.
func lackV2(dir string, controllers func(file string) ([]string, error)) string {
	for _, way := range []struct{ file, what, todo string }{
		{"cgroup.controllers", "lacks", "boot with systemd.unified_cgroup_hierarchy=1 and without cgroup_disable, " +
			"or mount -t cgroup -o blkio cgroup /sys/fs/cgroup/blkio"},
		{"cgroup.subtree_control", "does not enable", "echo '+io +memory' > " + filepath.Join(dir,
			"cgroup.subtree_control")},
	} {
		file := filepath.Join(dir, way.file)
		have, err := controllers(file)
		if err != nil {
			return err.Error()
		}
		missing := slices.DeleteFunc([]string{"io", "memory"}, // the memory controller attributes dirty pages
			func(c string) bool { return slices.Contains(have, c) })
		if len(missing) > 0 {
			return fmt.Sprintf("%s %s %s: %s", file, way.what, strings.Join(missing, " and "), way.todo)
		}
	}
	return ""
}

// missingFile explains why a limit file does not exist.
func missingFile(path string) error {
	if filepath.Base(path) == v1File {
		return fmt.Errorf("%w: %s does not exist: the kernel needs CONFIG_BLK_DEV_THROTTLING", ErrNoController, path)
	}
	group := filepath.Dir(path)
	if _, err := os.Stat(group); err != nil {
		return fmt.Errorf("%w: %w", ErrNoController, err)
	}
	return fmt.Errorf("%w: %s does not exist: echo '+io +memory' > %s (its parent must hold no process of its own),"+
		" and the kernel needs CONFIG_BLK_DEV_THROTTLING", ErrNoController, path,
		filepath.Join(filepath.Dir(group), "cgroup.subtree_control"))
}
