package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/check"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// differingTimes returns the reports of one exit that have another time than the first:
// the shim notes one time. After a harmed shim or a broken call containerd or a helper
// may tell the time at which it learnt of the exit. Reports with a wrong status are left
// to the exit ledger.
func differingTimes(h *harness.History) (found []finding.Finding) {
	if h.Case.Workload.Fakeshim != "" || tolerated(h, exitTimeSame, harness.Instance{}, until(h.After.At)) {
		return nil
	}
	truths, reported, _ := ledger(h)
	for _, t := range truths {
		of := slices.DeleteFunc(slices.Clone(reported), func(o exit.Observation) bool {
			return o.Container != t.Container || o.Exec != t.Exec || o.Status != t.Status || untimed(o.At) ||
				impossible(h, o)
		})
		if len(of) == 0 {
			continue
		}
		first := slices.MinFunc(of, func(a, b exit.Observation) int { return a.At.Compare(b.At) })
		for _, o := range of {
			if o.At.Equal(first.At) {
				continue
			}
			found = append(found, finding.Finding{
				Invariant: finding.Exit, Class: finding.ClassExitCode,
				Subject: finding.Subject{ID: o.Container, Exec: o.Exec, PID: o.PID},
				Facts: ofExec(o.Exec, fact.Facts{fact.By: string(o.Observer), fact.Status: fact.OtherTime,
					fact.At: precisely(o.At), fact.First: precisely(first.At),
					fact.Source: string(first.Observer)}),
			})
		}
	}
	return uniqueCauses(found)
}

// impossible reports whether a reported time cannot be that of the end: that is said of
// it, and those who tell the true one are not accused beside it.
func impossible(h *harness.History, o exit.Observation) bool {
	for _, i := range h.Instances {
		if i.ID != o.Container {
			continue
		}
		_, notBefore, notAfter := processOf(h, i, o.Exec)
		if notAfter.IsZero() {
			notAfter = h.After.At
		}
		_, wrong := check.WrongEnd(o.At, notBefore, notAfter)
		return wrong
	}
	return false
}

// untimed reports whether an observer tells no time: shims' replies are read without.
func untimed(at time.Time) bool { return at.IsZero() || at.Unix() == 0 }

func precisely(at time.Time) string { return at.UTC().Format("15:04:05.000000000Z") }
