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

// untold: when nothing was broken, everybody who should tell an exit status does; and
// after whatever fault, where containerd is up, a client can learn it from somebody.
func untold(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	truths, told, _ := ledger(h)
	for _, t := range truths {
		tells := func(by oracle.Observer) bool {
			return slices.ContainsFunc(told, func(o oracle.Observation) bool {
				return o.Container == t.Container && o.Observer == by && o.Exec == ""
			})
		}
		if h.Case.Faultless() {
			for _, by := range mustTell(h, t.Container) {
				if !tells(by) {
					found = append(found, untoldBy(by, t))
				}
			}
		} else if !slices.ContainsFunc(clients, tells) {
			found = append(found, untoldBy(oracle.ByNobody, t))
		}
	}
	return circumstances(h, found), nil
}

func mustTell(h *harness.History, id string) []oracle.Observer {
	for _, i := range h.Instances {
		if i.ID == id {
			return i.MustTell
		}
	}
	return nil
}

func untoldBy(by oracle.Observer, t oracle.Truth) oracle.Finding {
	return oracle.Finding{
		Invariant: oracle.Exit, Class: oracle.ClassExitCode, Subject: oracle.Subject{ID: t.Container}, Facts: oracle.Facts{
			oracle.FactBy: string(by), oracle.FactStatus: oracle.Untold, oracle.FactTrue: fmt.Sprint(t.Status),
			oracle.FactSource: t.Source,
		},
	}
}
