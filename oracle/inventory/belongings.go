package inventory

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/oracle/scan"
)

// Belongings are the files, directories and mounts of containers and sandboxes at one
// time: everything in containerd's directories with their id in its path.
type Belongings struct {
	At time.Time `json:"at"`
	// Of are the ids, and Have are the belongings of all of them.
	Of   []string    `json:"of"`
	Have []Belonging `json:"have,omitempty"`
}

// Belonging is one file, directory or mount.
type Belonging struct {
	ID string `json:"id"` // of its container or sandbox
	File
	// Mount is the type of a mounted filesystem; "" for a file.
	Mount string `json:"mount,omitempty"`
}

// TakeBelongings lists the belongings of some ids without asking containerd.
func TakeBelongings(s Scene, of ...string) (Belongings, error) {
	s = s.withDefaults()
	s.FileDirs = []string{s.State, s.ContainerdRoot}
	b := Belongings{At: time.Now(), Of: of}
	all, err := Mounts(filepath.Join(s.Proc, "1"))
	if err != nil {
		return b, err
	}
	t, err := scan.OpenTree(s.Root)
	if err != nil {
		return b, err
	}
	defer t.Close()
	files, err := listFiles(t, s, all)
	if err != nil {
		return b, fmt.Errorf("list the belongings of %s: %w", strings.Join(of, ", "), err)
	}
	add := func(f File, mount string) {
		words := strings.Split(f.Path, "/")
		if i := slices.IndexFunc(words, func(w string) bool { return slices.Contains(of, w) }); i >= 0 {
			b.Have = append(b.Have, Belonging{words[i], f, mount})
		}
	}
	for _, f := range files {
		add(f, "")
	}
	for _, m := range all {
		if s.places().Name(m.Point) != m.Point {
			add(File{Path: m.Point}, m.Type)
		}
	}
	return b, nil
}
