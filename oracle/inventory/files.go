package inventory

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/scan"
	"github.com/shimquake/shimquake/quote"
)

// File is a file of any kind, or a directory, in Scene.FileDirs.
type File struct {
	Path string `json:"path"` // inside the scene
	// Kind is ADirectory, ASocket, AFIFO, ASymlink or ADevice, or "" for a regular file.
	Kind string `json:"kind,omitempty"`
	// Size is the size of a regular file, in bytes.
	Size int64 `json:"size,omitempty"`
}

// listFiles lists everything below Scene.FileDirs. It does not list the files in mounts.
// A new mount is itself in the inventory, and the files of an old one do not belong to
// the scene. It also leaves out the content of closedDirs and the harness's own files.
func listFiles(t *scan.Tree, s Scene, mounts []Mount) ([]File, error) {
	stop := make(map[string]bool, len(mounts))
	for _, m := range mounts {
		stop[m.Point] = true
	}
	w := fileWalk{tree: t, places: s.places(), stop: stop, fifos: s.FIFODirs, own: s.OwnFile}
	for _, dir := range s.FileDirs {
		if err := w.walk(dir, false); err != nil {
			return nil, fmt.Errorf("list files: %w", err)
		}
	}
	return w.out, nil
}

type fileWalk struct {
	tree   *scan.Tree
	places Places
	stop   map[string]bool
	fifos  []string // directories of clients' FIFOs, of which only the files are listed
	own    func(string) bool
	out    []File
	size   int // of the paths so far
}

// maxPaths limits the bytes of the paths of all files. A world of a case has some
// hundred files.
const maxPaths = 32 << 20

func (w *fileWalk) walk(dir string, ofFIFOs bool) error {
	entries, err := w.tree.List(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if w.size += len(name); w.size > maxPaths || len(w.out) >= scan.MaxListed {
			return fmt.Errorf("%s: there are more than %d files, or %d MiB of their paths", quote.Line(dir), scan.MaxListed,
				maxPaths>>20)
		}
		if w.own(name) {
			continue
		}
		if !ofFIFOs || !e.IsDir() {
			f := File{Path: name, Kind: kindOf(e.Type())}
			if f.Kind == "" && !w.stop[name] { // not of a mount, such as a FUSE that never answers
				if info, err := w.tree.Stat(name); err == nil {
					f.Size = info.Size()
				}
			}
			w.out = append(w.out, f)
		}
		if !e.IsDir() || w.stop[name] || w.closed(name) {
			continue
		}
		if err := w.walk(name, ofFIFOs || slices.Contains(w.fifos, name)); err != nil {
			return err
		}
	}
	return nil
}

// closedDirs are listed without their content. fs and work of a snapshot have the files
// of a container, which may be very many.
const closedDirs = RootWord + "/io.containerd.snapshotter.v1.*/snapshots/*/*"

func (w *fileWalk) closed(dir string) bool {
	ok, _ := path.Match(closedDirs, w.places.Name(dir)) // the pattern is valid
	return ok
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return fact.ADirectory
	case mode&fs.ModeSocket != 0:
		return fact.ASocket
	case mode&fs.ModeNamedPipe != 0:
		return fact.AFIFO
	case mode&fs.ModeSymlink != 0:
		return fact.ASymlink
	case mode&fs.ModeDevice != 0:
		return fact.ADevice
	}
	return ""
}
