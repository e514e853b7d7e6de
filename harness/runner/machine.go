package runner

import (
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// ThisMachine describes the machine on which this program runs.
func ThisMachine() harness.Machine {
	m := harness.Machine{Kernel: "unknown", Cgroups: "v1", CPUs: runtime.NumCPU()}
	var u unix.Utsname
	if err := unix.Uname(&u); err == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	var fs unix.Statfs_t
	if err := unix.Statfs("/sys/fs/cgroup", &fs); err == nil && fs.Type == unix.CGROUP2_SUPER_MAGIC {
		m.Cgroups = "v2"
	} else if mounts, err := inventory.Mounts("/proc/self"); err == nil &&
		slices.ContainsFunc(mounts, func(m inventory.Mount) bool { return m.Type == "cgroup2" }) {
		m.Cgroups = "hybrid"
	}
	return m
}
