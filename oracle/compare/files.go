package compare

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/scan"
)

func listed(name, kind string) func(ListedFile) bool {
	return func(l ListedFile) bool { return l.matches(name, kind) }
}

// unreported lists new files, and older files that have grown, if no other finding covers
// them. For example, it leaves out a reported socket and the files of a reported bundle.
// It reports a new directory once, without its files.
func (d diff) unreported(reported []finding.Finding) []finding.Finding {
	if len(d.after.Files) == 0 {
		return nil
	}
	had := make(map[string]inventory.File, len(d.before.Files))
	for _, f := range d.before.Files {
		had[f.Path] = f
	}
	covered := d.covered(reported)
	unplaced := d.unplaced(reported)
	var out []finding.Finding
	for _, f := range d.after.Files {
		name := d.after.Places.Name(f.Path)
		was, there := had[f.Path]
		switch {
		case there && f.Size > was.Size && !slices.ContainsFunc(fileLists.MayGrow, listed(name, f.Kind)):
			found := OfFile(f, d.after.Places)
			found.Facts[fact.Size], found.Facts[fact.Count] = fact.Grown, strconv.FormatInt(f.Size-was.Size, 10)
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
			covered[f.Path] = true // a directory comes before its files
		}
	}
	return out
}

// covered returns the paths that other findings cover.
func (d diff) covered(reported []finding.Finding) map[string]bool {
	out := map[string]bool{}
	for _, f := range reported {
		if f.Subject.Path != "" && f.Class.Kind().Covers {
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

// unplaced counts the reported snapshots whose directory is not known, because they are
// read-only. Each of them explains one directory.
func (d diff) unplaced(reported []finding.Finding) int {
	n := 0
	for _, f := range reported {
		if f.Class == finding.ClassSnapshot && !slices.ContainsFunc(d.after.Daemon.SnapshotDirs,
			func(s inventory.SnapshotDir) bool {
				return s.Namespace == f.Subject.Namespace && s.Key == f.Subject.ID
			}) {
			n++
		}
	}
	return n
}

// below reports whether a path is one of some paths, or below one.
func below(some map[string]bool, file string) bool {
	for ; file != "/" && file != "."; file = path.Dir(file) {
		if some[file] {
			return true
		}
	}
	return false
}

// OfFile returns the finding about a file.
func OfFile(f inventory.File, p inventory.Places) finding.Finding {
	name := p.Name(f.Path)
	out := finding.Finding{Invariant: finding.Leak, Class: finding.ClassFile, Subject: finding.Subject{Path: f.Path}}
	out.Facts = fact.Facts{fact.Kind: f.Kind, fact.Path: comparablePath(name)}
	switch out.Subject.Namespace, out.Subject.ID = scan.MountOwner(f.Path); {
	case f.Kind == "":
		out.Facts[fact.Kind] = fact.APlainFile
	case isSnapshotDir(name) && f.Kind == fact.ADirectory:
		out.Facts[fact.Kind] = fact.ASnapshotDir
	}
	return out
}

// isSnapshotDir reports whether a path is the directory of one snapshot.
func isSnapshotDir(name string) bool {
	ok, _ := path.Match(inventory.RootWord+"/io.containerd.snapshotter.v1.*/snapshots/*", name) // the pattern is valid
	return ok
}

// comparablePath replaces the ids and numbers in a path by ID and N, so that the paths of
// two cases can be compared.
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
