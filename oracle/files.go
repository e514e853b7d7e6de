package oracle

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/oracle/scan"
)

// File is a file of any kind, or a directory, in Scene.FileDirs.
type File struct {
	Path string `json:"path"` // inside the scene
	// Kind is ADirectory, ASocket, AFIFO, ASymlink or ADevice; "" for a regular file.
	Kind string `json:"kind,omitempty"`
	// Size is that of a regular file, in bytes.
	Size int64 `json:"size,omitempty"`
}

// Places are those directories of containerd that differ between scenes.
type Places struct {
	Root  string `json:"root,omitempty"`
	State string `json:"state,omitempty"`
}

// The words for them at the beginning of a path that is compared.
const (
	rootWord  = "ROOT"
	stateWord = "STATE"
)

// name gives a path below one of the places its word: ROOT/io.containerd.metadata.v1.bolt
func (p Places) name(file string) string {
	for _, place := range []struct{ dir, word string }{{p.Root, rootWord}, {p.State, stateWord}} {
		if rest, ok := strings.CutPrefix(file, place.dir); ok && place.dir != "" && (rest == "" || rest[0] == '/') {
			return place.word + rest
		}
	}
	return file
}

func readFiles(inv *Inventory, t *scan.Tree, s Scene) (err error) {
	inv.Files, err = listFiles(t, s, inv.Mounts)
	return err
}

// listFiles lists everything below Scene.FileDirs, but not beyond a mount: a new mount is
// reported by itself, and what is in an old one is not this scene's. Nor is listed what
// is in one of closedDirs, and what is the harness's own.
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
	fifos  []string // in which clients make directories for their FIFOs: only what is in them counts
	own    func(string) bool
	out    []File
}

func (w *fileWalk) walk(dir string, ofFIFOs bool) error {
	entries, err := w.tree.List(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if w.own(name) {
			continue
		}
		if !ofFIFOs || !e.IsDir() {
			f := File{Path: name, Kind: kindOf(e.Type())}
			if f.Kind == "" {
				f.Size = w.tree.Size(name)
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

// closedDirs are reported, and not looked into: fs and work of a snapshot hold a
// container's files, as many as it likes to write.
const closedDirs = rootWord + "/io.containerd.snapshotter.v1.*/snapshots/*/*"

func (w *fileWalk) closed(dir string) bool {
	ok, _ := path.Match(closedDirs, w.places.name(dir)) // its form is good
	return ok
}

func listed(name, kind string) func(ListedFile) bool {
	return func(l ListedFile) bool { return l.matches(name, kind) }
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return ADirectory
	case mode&fs.ModeSocket != 0:
		return ASocket
	case mode&fs.ModeNamedPipe != 0:
		return AFIFO
	case mode&fs.ModeSymlink != 0:
		return ASymlink
	case mode&fs.ModeDevice != 0:
		return ADevice
	}
	return ""
}

// unreported lists the files that nothing else tells of: what is in a bundle that is
// reported, or is a socket that is reported, is not reported again. Of a new directory it
// tells once, and not of what is in it; and of one that was there, where it has grown.
func (d diff) unreported(reported []Finding) []Finding {
	if len(d.after.Files) == 0 {
		return nil
	}
	had := make(map[string]File, len(d.before.Files))
	for _, f := range d.before.Files {
		had[f.Path] = f
	}
	covered := d.covered(reported)
	unplaced := d.unplaced(reported)
	var out []Finding
	for _, f := range d.after.Files {
		name := d.after.Places.name(f.Path)
		was, there := had[f.Path]
		switch {
		case there && f.Size > was.Size && !slices.ContainsFunc(fileLists.MayGrow, listed(name, f.Kind)):
			found := OfFile(f, d.after.Places)
			found.Facts[FactSize], found.Facts[FactCount] = Grown, strconv.FormatInt(f.Size-was.Size, 10)
			out = append(out, found)
		case there || below(covered, f.Path):
		case slices.ContainsFunc(fileLists.MayAppear, listed(name, f.Kind)):
		case unplaced > 0 && isSnapshotDir(name):
			unplaced--
			covered[f.Path] = true
		default:
			found := OfFile(f, d.after.Places)
			found.Subject.ID = cmp.Or(found.Subject.ID, d.podOf(f.Path))
			out = append(out, found)
			covered[f.Path] = true // a directory comes before what is in it
		}
	}
	return out
}

// covered are the paths of what other findings tell of.
func (d diff) covered(reported []Finding) map[string]bool {
	out := map[string]bool{}
	for _, f := range reported {
		if f.Subject.Path != "" && slices.Contains(covering, f.Class) {
			out[f.Subject.Path] = true
		}
	}
	if d.after.Daemon != nil {
		for _, s := range d.after.Daemon.SnapshotDirs {
			out[s.Dir] = true
		}
	}
	return out
}

// unplaced counts the snapshots that are reported and whose directories are not known:
// those that nothing writes to. Each has one.
func (d diff) unplaced(reported []Finding) int {
	n := 0
	for _, f := range reported {
		if f.Class == ClassSnapshot && !slices.ContainsFunc(d.after.Daemon.SnapshotDirs, func(s SnapshotDir) bool {
			return s.Namespace == f.Subject.Namespace && s.Key == f.Subject.ID
		}) {
			n++
		}
	}
	return n
}

// covering are the classes whose findings tell of files.
var covering = leakClassesThat(func(c leakClass) bool { return c.covers })

// below reports whether a path is one of some, or in one of them.
func below(some map[string]bool, file string) bool {
	for ; file != "/" && file != "."; file = path.Dir(file) {
		if some[file] {
			return true
		}
	}
	return false
}

// OfFile is a finding about a file.
func OfFile(f File, p Places) Finding {
	name := p.name(f.Path)
	out := Finding{Invariant: Leak, Class: ClassFile, Subject: Subject{Path: f.Path}}
	out.Facts = Facts{FactKind: f.Kind, FactPath: comparablePath(name)}
	switch out.Subject.Namespace, out.Subject.ID = scan.MountOwner(f.Path); {
	case f.Kind == "":
		out.Facts[FactKind] = APlainFile
	case isSnapshotDir(name) && f.Kind == ADirectory:
		out.Facts[FactKind] = ASnapshotDir
	}
	return out
}

// isSnapshotDir reports whether a path is where a snapshotter keeps one snapshot.
func isSnapshotDir(name string) bool {
	ok, _ := path.Match(rootWord+"/io.containerd.snapshotter.v1.*/snapshots/*", name) // its form is good
	return ok
}

// comparablePath is a path without what is of one case only.
func comparablePath(name string) string {
	words := strings.Split(name, "/")
	for i, w := range words {
		if !strings.HasPrefix(w, "io.containerd.") {
			words[i] = ofOneCase.ReplaceAllStringFunc(w, func(s string) string {
				if allDigits.MatchString(s) {
					return "N"
				}
				return "ID"
			})
		}
	}
	return strings.Join(words, "/")
}

var (
	ofOneCase = regexp.MustCompile(`[0-9a-f]{12,}|\b[cb]\d+\b|\d+`)
	allDigits = regexp.MustCompile(`^\d+$`)
)
