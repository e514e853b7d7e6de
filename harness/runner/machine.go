package runner

import (
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
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
	} else if mounts, err := foreign.ReadFile("/proc/self/mounts", maxKept); err == nil &&
		strings.Contains(string(mounts), " cgroup2 ") {
		m.Cgroups = "hybrid"
	}
	return m
}
