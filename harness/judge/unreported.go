package judge

import (
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// clients are the observers that a client of containerd can reach.
var clients = []exit.Observer{
	exit.ByWait, exit.ByDelete, exit.ByTaskStatus, exit.ByTaskList, exit.ByTaskExit, exit.ByTaskDelete,
	exit.ByCRIStatus, exit.ByRestarted,
}

// unreported: without a fault every reporter reports the exit, and after a fault at least
// one reporter does if containerd is up.
func unreported(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if !settled(h) {
		return nil, nil
	}
	truths, reported, _ := ledger(h)
	for _, t := range truths {
		tells := func(by exit.Observer) bool {
			return slices.ContainsFunc(reported, func(o exit.Observation) bool {
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
			found = append(found, unreportedBy(exit.ByNobody, t))
		}
	}
	return circumstances(h, found), nil
}

// ofExecs are those that tell of an exec when nothing is broken, but for its event.
var ofExecs = []exit.Observer{exit.ByWait, exit.ByTaskStatus, exit.ByDelete}

// mustTell returns the observers that must report an exit. A script has none: the client
// asks as its steps say.
func mustTell(h *harness.History, t exit.Truth) []exit.Observer {
	if h.Case.Workload.ReusesIDs() {
		return nil
	}
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

func unreportedBy(by exit.Observer, t exit.Truth) finding.Finding {
	return finding.Finding{
		Invariant: finding.Exit, Class: finding.ClassExitCode, Subject: finding.Subject{ID: t.Container, Exec: t.Exec},
		Facts: ofExec(t.Exec, fact.Facts{
			fact.By: string(by), fact.Status: fact.Unreported, fact.True: fmt.Sprint(t.Status),
			fact.Source: t.Source,
		}),
	}
}
