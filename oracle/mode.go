package oracle

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/scan"
)

// FileMode is who may do what with a file of containerd's.
type FileMode struct {
	File
	// Mode are the permission bits and the sticky one.
	Mode uint32 `json:"mode"`
	UID  uint32 `json:"uid,omitempty"`
}

// Bits of FileMode.Mode.
const (
	OthersWrite = unix.S_IWOTH
	OthersAny   = unix.S_IRWXO
	OthersEnter = unix.S_IXOTH
	Sticky      = unix.S_ISVTX
)

// IsBundle reports whether it is the bundle of a task.
func (m FileMode) IsBundle(p Places) bool {
	ok, _ := path.Match(stateWord+"/io.containerd.runtime.v2.task/*/*", p.name(m.Path)) // its form is good
	return ok && m.Kind == ADirectory
}

// rootDepth is how deep containerd's root is looked into: further down are contents,
// snapshots and what is theirs.
const rootDepth = 2

// Modes lists who may do what with the files in containerd's state directory and, not far
// down, in its root; not beyond a mount, without what is not there any more, and without
// sockets that nobody listens on: a shim opens its own for root alone once it has it.
func Modes(s Scene) ([]FileMode, error) {
	s = s.withDefaults()
	t, err := scan.OpenTree(s.Root)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	listening, err := scan.Listeners(s.Proc, 1)
	if err != nil {
		return nil, fmt.Errorf("list modes of files: %w", err)
	}
	w := modeWalk{tree: t, closed: s.RuncRoot}
	for dir, depth := range map[string]int{s.State: -1, s.ContainerdRoot: rootDepth} {
		if err := w.walk(dir, depth); err != nil {
			return nil, fmt.Errorf("list modes of files: %w", err)
		}
	}
	return slices.DeleteFunc(w.out, func(m FileMode) bool {
		heard := slices.ContainsFunc(listening, func(u scan.UnixSocket) bool { return u.Path == m.Path })
		return m.Kind == ASocket && !heard
	}), nil
}

type modeWalk struct {
	tree   *scan.Tree
	closed string // what is in it is runc's own: a FIFO that it makes to start a container is for all
	out    []FileMode
}

// walk adds what is in a directory, up to a depth; -1: all.
func (w *modeWalk) walk(dir string, depth int) error {
	entries, err := w.tree.List(dir)
	if err != nil || len(entries) == 0 {
		return err
	}
	f, err := w.tree.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil //nolint:nilerr // it is gone meanwhile
	}
	defer f.Close() //nolint:errcheck // read-only
	var own, st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &own); err != nil {
		return &fs.PathError{Op: "stat", Path: dir, Err: err}
	}
	for _, e := range entries {
		if unix.Fstatat(int(f.Fd()), e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Dev != own.Dev {
			continue
		}
		name := path.Join(dir, e.Name())
		w.out = append(w.out, FileMode{File{Path: name, Kind: kindOf(e.Type())}, st.Mode & permissions, st.Uid})
		if e.IsDir() && depth != 1 && name != w.closed {
			if err := w.walk(name, depth-1); err != nil {
				return err
			}
		}
	}
	return nil
}

const permissions = unix.S_IRWXU | unix.S_IRWXG | OthersAny | Sticky
