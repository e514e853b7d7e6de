package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// pids: ListPids tells of the processes that the kernel has in a container's cgroup, and
// of no others: what is there before the question and after the answer must be told, and
// what is there neither before nor after must not be. Without a fault it answers as long
// as the container runs.
func pids(h *harness.History) (found []finding.Finding, _ []harness.Problem) {
	if !looked(h) {
		return nil, nil
	}
	for _, i := range h.Instances {
		for _, p := range i.PIDs {
			for _, fs := range wrongPIDs(h, i, p) {
				found = append(found, finding.Finding{Invariant: finding.Liveness, Class: finding.ClassContainer, Facts: fs,
					Subject: finding.Subject{ID: i.ID, PID: int(i.PID)}})
			}
		}
	}
	return found, nil
}

func wrongPIDs(h *harness.History, i harness.Instance, p harness.PIDs) (all []fact.Facts) {
	if p.Err != nil {
		if h.Case.Faultless() && !p.Ended {
			all = append(all, fact.Facts{fact.What: fact.PIDsUntold, fact.Error: p.Err.Text,
				fact.Code: p.Err.Code})
		}
		return all
	}
	without := func(pids []int, others ...[]int) []int {
		all := slices.Concat(others...)
		return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return slices.Contains(all, pid) })
	}
	stayed := without(p.Before, without(p.Before, p.After))
	if out := without(stayed, p.Told); len(out) > 0 {
		all = append(all, fact.Facts{fact.What: fact.PIDsLeftOut, fact.True: numbers(out),
			fact.Reported: numbers(p.Told)})
	}
	if out := without(p.Told, p.Before, p.After); len(out) > 0 {
		all = append(all, fact.Facts{fact.What: fact.PIDsForeign, fact.Reported: numbers(out),
			fact.True: numbers(p.After)})
	}
	return append(all, wrongExecs(h, i, p)...)
}

// wrongExecs are processes that ListPids calls those of another exec, or of none. It is
// judged without a fault: an exec may be unknown to a client that was cut off.
func wrongExecs(h *harness.History, i harness.Instance, p harness.PIDs) (all []fact.Facts) {
	if p.OfExecs == nil || !h.Case.Faultless() {
		return nil
	}
	for _, pid := range p.Told {
		is, said := "", ""
		for _, e := range i.Execs {
			if int(e.PID) == pid && (e.Waited.IsZero() || e.Waited.After(p.At)) {
				is = e.ID
			}
		}
		for _, e := range p.OfExecs {
			if e.PID == pid {
				said = e.ID
			}
		}
		if is != said {
			all = append(all, fact.Facts{fact.What: fact.PIDsOfExecs, fact.TaskPID: fmt.Sprint(pid),
				fact.Reported: said, fact.True: is})
		}
	}
	return all
}

// numbers are pids in a text.
func numbers(pids []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(pids), "[]"), " ", ",")
}
