package iopressure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
)

// Dirty writes a new file of mib MiB at path and does not sync it, as another program on
// the node may do. It replaces an existing file and does not overwrite it: on cgroup v2
// an inode stays with the group that first wrote to it. The kernel flushes an inode of an
// unlimited process, or from before the limit, at full speed (seen on 6.1). It may
// throttle the writer itself when there are many dirty pages. Dirty checks ctx after each
// MiB.
//
// On cgroup v2 the pages are charged to the group of the calling process, so Dirty must
// run in the limited group. Run DirtyArgs in the world instead.
func Dirty(ctx context.Context, path string, mib int) (err error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("dirty pages: %w", err)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("dirty pages: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	chunk := make([]byte, 1<<20)
	for i := range mib {
		if ctx.Err() != nil {
			return fmt.Errorf("dirty pages: %d of %d MiB written: %w", i, mib, context.Cause(ctx))
		}
		if _, err := f.Write(chunk); err != nil {
			return fmt.Errorf("dirty pages: %d of %d MiB written: %w", i, mib, err)
		}
	}
	return nil
}

// DirtyArgs returns a command that does the same as Dirty, for a process of the world.
func DirtyArgs(path string, mib int) []string {
	script := `rm -f "$1" && exec dd if=/dev/zero of="$1" bs=1M count="$2" status=none`
	return []string{"/bin/sh", "-c", script, "dirty", path, strconv.Itoa(mib)}
}
