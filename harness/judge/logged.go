package judge

import (
	"strconv"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// How often containerd may log one message: a thousand times, and more with each call of
// a client that tries again and again, and with each start, whose plugins have a line
// each. The most that was seen of v2.4.2 in 1,100 cases is twice for a call.
const (
	logBound      = 1000
	logsOfACall   = 10
	logsOfAStart  = 100
	epollShutdown = "cgroups: epoll wait"
)

// logged: containerd's log is not flooded. A loop that ends nowhere else shows there. Nor
// does it say that it cannot go on where nothing was broken.
func logged(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	bound := logBound + logsOfACall*len(h.Calls) + logsOfAStart*len(h.Deaths)
	for _, l := range h.Logged {
		if l.Fatal() && h.Case.Faultless() {
			found = append(found, oracle.Finding{
				Invariant: oracle.Liveness, Class: oracle.ClassDaemon, Facts: oracle.Facts{oracle.FactWhat: oracle.AFatalLog,
					oracle.FactMessage: oracle.Comparable(l.Message), oracle.FactCount: strconv.Itoa(l.Times)},
			})
		}
		if l.Times <= bound || l.Message == epollShutdown && h.Restarted() {
			continue // the monitor of cgroups v1 spins from containerd's SIGTERM to its end (v1.6 to v2.4)
		}
		found = append(found, oracle.Finding{
			Invariant: oracle.Liveness, Class: oracle.ClassDaemon, Facts: oracle.Facts{oracle.FactWhat: oracle.ALog,
				oracle.FactMessage: oracle.Comparable(l.Message), oracle.FactCount: strconv.Itoa(l.Times),
				oracle.FactMost: strconv.Itoa(bound)},
		})
	}
	return found, nil
}
