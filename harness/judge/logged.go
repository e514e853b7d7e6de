package judge

import (
	"strconv"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// How often containerd may log one message: a thousand times, and some more for each call
// of a client and for each start. A client may retry often, and each plugin logs a line
// at a start. In 1,100 cases v2.4.2 logged no message more than twice for a call.
const (
	logBound     = 1000
	logsOfACall  = 10
	logsOfAStart = 100
)

// epollShutdown is the message of the OOM monitor of cgroup v1 while its process ends
// (v1.6 to v2.4). The monitor logs it in a loop. A shim logged it 1,300 times in 20 ms on
// a busy machine, and containerd up to 31,000 times in 550 cases. A monitor that logs for
// some seconds reaches spinBound.
const (
	epollShutdown = "cgroups: epoll wait"
	spinBound     = 200_000
)

// logged: containerd logs no message very often, and without a fault no fatal message. An
// endless loop is often visible only in the log.
func logged(h *run) (found []finding.Finding, _ []harness.Problem) {
	bound := logBound + logsOfACall*len(h.Calls) + logsOfAStart*len(h.Deaths)
	for _, l := range h.Logged {
		add := func(is, most string) {
			found = append(found, unalive(finding.ClassDaemon, fact.Facts{fact.What: fact.ALog, fact.Is: is, fact.Most: most,
				fact.Message: callerr.Comparable(l.Message), fact.Count: strconv.Itoa(l.Times)}))
		}
		if l.Fatal() && !tolerated(h, noFatalLog, span{}) {
			add(fact.Fatal, "")
		}
		most := bound
		if l.Message == epollShutdown {
			most = spinBound
		}
		if l.Times > most {
			add(fact.Repeated, strconv.Itoa(most))
		}
	}
	return found, nil
}
