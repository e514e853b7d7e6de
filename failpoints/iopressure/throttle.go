package iopressure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// minBPS is the smallest limit that io.max accepts on every kernel: every kernel refuses
// 0, and some refuse 1.
const minBPS = 2

// Target names the device to slow down, and the limit.
type Target struct {
	// Dev is the device as MAJOR:MINOR, for example Disk.Dev.
	Dev string
	// BPS is the limit on writes, in bytes per second; at least 2.
	BPS int64
	// CgroupDir is the folder of a group, /sys/fs/cgroup/shimquake/w1. V2 limits the
	// writeback of pages that the processes in it and beneath it have dirtied. V1 ignores
	// it: there the root group is charged with all buffered writes, so the limit holds
	// for every writer to the device.
	CgroupDir string
	// Keep stores the record before the limit is set, so that a SIGKILL never leaves an
	// unrecorded limit. It may be nil.
	Keep func(Record) error
}

// Limit limits the writes to a device. It returns ErrNoController if the host cannot do
// so; on V2 every group above the target must enable the io and memory controllers. The
// limit outlives this process: store its Record (Target.Keep), so that another process
// can lift it by Undo, too.
func Limit(ctx context.Context, t Target) (*Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("throttle %s: %w", t.Dev, context.Cause(ctx))
	}
	rec := Record{Dev: t.Dev, BPS: t.BPS}
	if _, err := parseDev(t.Dev); err != nil {
		return nil, err
	}
	if t.BPS < minBPS {
		return nil, fmt.Errorf("throttle %s: %d bytes/s: want at least %d", t.Dev, t.BPS, minBPS)
	}
	h, err := detect()
	if err != nil {
		return nil, fmt.Errorf("throttle %s: %w", t.Dev, err)
	}
	rec.Mode, rec.Backing = h.mode, backingOf(t.Dev)
	if h.mode == V2 {
		if rec.Group, err = limitable(h.root, t.CgroupDir); err == nil {
			rec.Inode, err = inodeOf(rec.Group)
		}
	}
	if err == nil {
		_, err = rec.inForce() // the kernel has the file
	}
	if err != nil {
		return nil, fmt.Errorf("throttle %s: %w", t.Dev, err)
	}
	if t.Keep != nil {
		if err := t.Keep(rec); err != nil {
			return nil, fmt.Errorf("throttle %s: store the record first: %w", t.Dev, err)
		}
	}
	if err := rec.write(t.BPS); err != nil {
		return nil, fmt.Errorf("throttle %s to %d bytes/s: %w", t.Dev, t.BPS, err)
	}
	// Read the limit back: if the kernel had not taken the limit, the verdict "held"
	// would prove nothing.
	if now, err := rec.inForce(); err != nil || now != t.BPS {
		return nil, errors.Join(fmt.Errorf("throttle %s: asked for %d bytes/s, and the kernel says %d (0: none)",
			t.Dev, t.BPS, now), err)
	}
	return &rec, nil
}

// limitable checks that the group dir can be limited, and returns its clean path. It
// changes nothing: a service manager decides which controllers the groups above enable.
func limitable(root, dir string) (string, error) {
	rel, err := filepath.Rel(root, dir)
	if err != nil || dir == "" || rel == "." || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", fmt.Errorf("group %q: on cgroup v2 want the folder of a group beneath %s", dir, root)
	}
	dir = filepath.Join(root, rel)
	for _, file := range []string{"io.max", "memory.current"} { // the memory controller attributes dirty pages
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			return "", missingFile(filepath.Join(dir, file))
		}
	}
	return dir, nil
}

// write sets the limit; bps 0 means none.
func (r Record) write(bps int64) error {
	name, err := r.file()
	if err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(r.line(bps))
	return errors.Join(err, file.Close())
}

// line returns what sets the limit in file. limitOf reads such lines.
func (r Record) line(bps int64) string {
	limit := strconv.FormatInt(bps, 10)
	switch {
	case r.Mode == V1: // 0 lifts
	case bps == 0:
		limit = "wbps=max"
	default:
		limit = "wbps=" + limit
	}
	return r.Dev + " " + limit
}
