package inventory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
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
		if _, err := os.Stat(base); err != nil {
			return nil, fmt.Errorf("list cgroups: give directories that exist in Scene.CgroupDirs: %w", err)
		}
		if err := walkCgroup(base, "", &out); err != nil {
			return nil, fmt.Errorf("list cgroups: %w", err)
		}
	}
	return out, nil
}

func walkCgroup(dir, rel string, out *[]Cgroup) error {
	var st unix.Stat_t
	err := unix.Stat(dir, &st)
	var entries []os.DirEntry
	if err == nil && !childless(st) {
		entries, err = os.ReadDir(dir)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) { // removed; ENODEV: while it was open
		return nil
	}
	if err != nil {
		return err
	}
	at := len(*out)
	if rel != "" {
		*out = append(*out, Cgroup{Path: dir, Rel: rel, Procs: countProcs(dir), Leaf: true})
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if rel != "" {
			(*out)[at].Leaf = false
		}
		if err := walkCgroup(filepath.Join(dir, e.Name()), filepath.Join(rel, e.Name()), out); err != nil {
			return err
		}
	}
	return nil
}

// childless reports whether a directory has no subdirectory. Each subdirectory would add
// a link to the directory's own two (kernfs_refresh_inode in Linux's fs/kernfs/inode.c).
// This is many times faster than to list a cgroup with all its files. A filesystem that
// does not count links reports 1.
func childless(st unix.Stat_t) bool { return st.Nlink == 2 }

func countProcs(dir string) int {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return 0 // removed, or a threaded cgroup (cgroups(7)), whose processes count in its domain
	}
	return strings.Count(string(text), "\n")
}
