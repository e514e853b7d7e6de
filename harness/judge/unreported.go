package judge

import (
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// clients are the observers that a client of containerd can reach.
var clients = []oracle.Observer{
	oracle.ByWait, oracle.ByDelete, oracle.ByTaskStatus, oracle.ByTaskList, oracle.ByTaskExit, oracle.ByTaskDelete,
	oracle.ByCRIStatus, oracle.ByRestarted,
}

// unreported: when nothing was broken, everybody who should tell an exit status does; and
// after whatever fault, where containerd is up, a client can learn it from somebody.
func unreported(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if !settled(h) {
		return nil, nil
	}
	truths, reported, _ := ledger(h)
	for _, t := range truths {
		tells := func(by oracle.Observer) bool {
			return slices.ContainsFunc(reported, func(o oracle.Observation) bool {
				return o.Container == t.Container && o.Observer == by && o.Exec == t.Exec
			})
		}
		if h.Case.Faultless() {
			for _, by := range mustTell(h, t) {
				if !tells(by) {
					found = append(found, unreportedBy(by, t))
				}
			}
		} else if t.Exec == "" && !slices.ContainsFunc(clients, tells) && !lostWithNode(h, t.Container, "") {
			found = append(found, unreportedBy(oracle.ByNobody, t))
		}
	}
	return circumstances(h, found), nil
}

// ofExecs are those that tell of an exec when nothing is broken, but for its event.
var ofExecs = []oracle.Observer{oracle.ByWait, oracle.ByTaskStatus, oracle.ByDelete}

func mustTell(h *harness.History, t oracle.Truth) []oracle.Observer {
	for _, i := range h.Instances {
		if i.ID != t.Container {
			continue
		}
		if t.Exec == "" {
			return i.MustTell
		}
		for _, e := range i.Execs {
			if e.Called() == t.Exec && e.Sync != nil {
				return ofSync(e)
			}
		}
	}
	if t.Exec == "" {
		return nil
	}
	return ofExecs
}

func unreportedBy(by oracle.Observer, t oracle.Truth) oracle.Finding {
	return oracle.Finding{
		Invariant: oracle.Exit, Class: oracle.ClassExitCode, Subject: oracle.Subject{ID: t.Container, Exec: t.Exec},
		Facts: ofExec(t.Exec, oracle.Facts{
			oracle.FactBy: string(by), oracle.FactStatus: oracle.Unreported, oracle.FactTrue: fmt.Sprint(t.Status),
			oracle.FactSource: t.Source,
		}),
	}
}
