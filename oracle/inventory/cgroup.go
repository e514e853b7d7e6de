package inventory

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/oracle/scan"
)

// Cgroup is one directory below the scene's cgroup directories.
type Cgroup struct {
	Path string `json:"path"` // on the host
	Rel  string `json:"rel"`  // relative to its directory in Scene.CgroupDirs
	// Procs is the number of processes in it (lines of cgroup.procs).
	Procs int  `json:"procs"`
	Leaf  bool `json:"leaf"` // without directories below
}

// cgroups lists all directories below dirs. The dirs themselves are not listed. They must
// exist, because a misspelt directory would look empty.
func cgroups(dirs []string) ([]Cgroup, error) {
	var out []Cgroup
	for _, base := range dirs {
		t, err := scan.OpenTree(base)
		if err != nil {
			return nil, fmt.Errorf("list cgroups: give directories that exist in Scene.CgroupDirs: %w", err)
		}
		at := map[string]int{}
		err = EachCgroup(t, "/", func(name string) bool {
			if parent, ok := at[path.Dir(name)]; ok {
				out[parent].Leaf = false
			}
			at[name] = len(out)
			procs := len(CgroupProcs(t, name))
			out = append(out, Cgroup{Path: filepath.Join(base, name), Rel: name[1:], Procs: procs, Leaf: true})
			return true
		})
		t.Close()
		if err != nil {
			return nil, fmt.Errorf("list cgroups: %w", err)
		}
	}
	return out, nil
}

// EachCgroup calls visit for each cgroup below a directory of a tree, parents first. It
// visits the groups below a group only if visit returns true.
func EachCgroup(t *scan.Tree, dir string, visit func(name string) bool) error {
	info, err := t.Stat(dir)
	if err == nil && childless(info) {
		return nil
	}
	var entries []fs.DirEntry
	if err == nil {
		entries, err = t.List(dir)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) { // removed; ENODEV: while it was open
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() && visit(name) {
			if err := EachCgroup(t, name, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// childless reports whether a directory has no subdirectory. Each subdirectory would add
// a link to the directory's own two (kernfs_refresh_inode in Linux's fs/kernfs/inode.c).
// This is many times faster than to list a cgroup with all its files. A filesystem that
// does not count links reports 1.
func childless(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 2
}

// maxProcs limits the size of a group's list of processes, in bytes.
const maxProcs = 1 << 20

// CgroupProcs returns the processes in a cgroup, without those in the groups below it. A
// process of another PID namespace is 0. The list is empty if the group was removed, or
// is threaded (cgroups(7)): its processes count in its domain.
func CgroupProcs(t *scan.Tree, dir string) (pids []int) {
	text, _ := t.ReadFile(path.Join(dir, "cgroup.procs"), maxProcs)
	for word := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(word); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
