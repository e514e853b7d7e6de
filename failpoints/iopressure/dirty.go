package iopressure

import "strconv"

// DirtyArgs returns a command for a process of the world. It writes a new file of mib MiB
// at path and does not sync it, as another program on the node may do.
//
// It replaces an existing file and does not overwrite it: on cgroup v2 an inode stays
// with the group that first wrote to it. The kernel flushes an inode of an unlimited
// process, or from before the limit, at full speed (seen on 6.1). On cgroup v2 the pages
// are charged to the group of the calling process, so it must be in the limited group.
func DirtyArgs(path string, mib int) []string {
	script := `rm -f "$1" && exec dd if=/dev/zero of="$1" bs=1M count="$2" status=none`
	return []string{"/bin/sh", "-c", script, "dirty", path, strconv.Itoa(mib)}
}
