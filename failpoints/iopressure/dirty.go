package iopressure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// Dirty writes a file of mib MiB at path and does not sync it: the neighbour's dirty
// pages. Under a limit the kernel may hold the writer back once very much is dirty;
// ctx is looked at after each MiB.
//
// On cgroup v2 the pages are charged to the group of the process that calls this, so
// there it must run in the limited group: run DirtyArgs in the world instead.
func Dirty(ctx context.Context, path string, mib int) (err error) {
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

// DirtyArgs is a command that does what Dirty does, for a process of the world.
func DirtyArgs(path string, mib int) []string {
	return []string{"dd", "if=/dev/zero", "of=" + path, "bs=1M", "count=" + strconv.Itoa(mib), "status=none"}
}
