package judge

import (
	"fmt"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// access: what is containerd's is root's. While containers run nobody else may write to
// its directories, enter a bundle, in which a container's files are, or talk to a shim.
func access(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if h.Before == nil {
		return nil, nil
	}
	for _, m := range h.Modes {
		wrong, told := "", ""
		switch {
		case m.Kind == oracle.ASymlink:
		case m.UID != 0:
			wrong, told = oracle.NotRoots, fmt.Sprint(m.UID)
		case m.Mode&oracle.OthersWrite != 0 && m.Mode&oracle.Sticky == 0:
			wrong = oracle.AnyWrites
		case m.Mode&oracle.OthersAny != 0 && (m.IsBundle(h.Before.Places) || m.Kind == oracle.ASocket):
			wrong = oracle.AnyEnters
		}
		if wrong != "" {
			f := oracle.OfFile(m.File, h.Before.Places)
			f.Invariant = oracle.Access
			f.Facts[oracle.FactMode], f.Facts[oracle.FactAccess] = fmt.Sprintf("%04o", m.Mode), wrong
			f.Facts[oracle.FactTold] = told
			found = append(found, f)
		}
	}
	return found, nil
}
