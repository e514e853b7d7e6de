package judge

import (
	"fmt"
	"path"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// access: what is containerd's is root's. While containers run nobody else may write to
// its directories, enter a bundle, in which a container's files are, or talk to a shim.
func access(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if h.Before == nil {
		return nil, nil
	}
	closed := closedDirs(h.Modes)
	for _, m := range h.Modes {
		wrong, reported := "", ""
		switch {
		case m.Kind == oracle.ASymlink:
		case m.UID != 0:
			wrong, reported = oracle.NotRoots, fmt.Sprint(m.UID)
		case m.Mode&oracle.OthersWrite != 0 && m.Mode&oracle.Sticky == 0 && !within(closed, m.Path):
			wrong = oracle.AnyWrites
		case m.Mode&oracle.OthersAny != 0 && (m.IsBundle(h.Before.Places) || m.Kind == oracle.ASocket):
			wrong = oracle.AnyEnters
		}
		if wrong != "" {
			f := oracle.OfFile(m.File, h.Before.Places)
			f.Invariant = oracle.Access
			f.Facts[oracle.FactMode], f.Facts[oracle.FactAccess] = fmt.Sprintf("%04o", m.Mode), wrong
			f.Facts[oracle.FactReported] = reported
			found = append(found, f)
		}
	}
	return found, nil
}

// closedDirs are the directories that others cannot enter: what is in one is out of their
// reach, whatever its own mode (v1.6 writes a bundle's address for all).
func closedDirs(all []oracle.FileMode) map[string]bool {
	out := map[string]bool{}
	for _, m := range all {
		if m.Kind == oracle.ADirectory && m.Mode&oracle.OthersEnter == 0 {
			out[m.Path] = true
		}
	}
	return out
}

func within(closed map[string]bool, file string) bool {
	for dir := path.Dir(file); dir != "/" && dir != "."; dir = path.Dir(dir) {
		if closed[dir] {
			return true
		}
	}
	return false
}
