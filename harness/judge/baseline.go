package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// baseline: no call fails before the first fault. A failed call is a finding if the
// default release can run the workload on this machine. Otherwise the run is invalid.
func baseline(h *run) (found []finding.Finding, out []harness.Problem) {
	for n, u := range unprovoked(h) {
		if h.MachineCan() {
			found = append(found, finding.Finding{
				Invariant: finding.Liveness, Class: finding.ClassContainer, Subject: finding.Subject{ID: u.of}, Facts: u.facts,
			})
			continue
		}
		text := fmt.Sprintf("%s failed before any fault had happened: %s",
			strings.TrimSpace(u.facts[fact.Call]+" "+u.of), u.facts[fact.Error])
		if h.MachineCannot() && n == 0 {
			text += fmt.Sprintf("; %s cannot run the workload on this machine either: %s", h.Reference.Version, h.Reference.Why)
		}
		out = append(out, harness.Problem{Kind: harness.ByBefore, Text: text})
	}
	return found, out
}

// Unexplained reports whether a call failed, or took long, although no fault explains it.
// The runner then runs the default release, which shows whether this machine can run the
// workload (History.Reference).
func Unexplained(h harness.History) bool {
	r := runOf(&h)
	late, _ := slowCalls(r)
	return len(unprovoked(r)) > 0 || len(late) > 0 || ReuseFailed(h) || neverBooted(r) ||
		slices.ContainsFunc(h.Bystanders, func(b harness.Bystander) bool {
			return b.Started.IsZero() && slices.ContainsFunc(b.Calls, func(c harness.Call) bool { return c.Unprovoked })
		})
}

// ReuseFailed reports whether the first id could not be used again.
func ReuseFailed(h harness.History) bool { return h.Reuse != nil && h.Reuse.Err != nil }

// failure is a call that failed before the first fault.
type failure struct {
	of    string
	facts fact.Facts
}

func unprovoked(h *run) (all []failure) {
	for _, c := range h.Calls {
		if c.Unprovoked && !refusal(h, c) {
			fs := c.Err.Facts(fact.Baseline)
			fs[fact.Call] = c.Verb
			all = append(all, failure{c.Of, fs})
		}
	}
	if f, failed := failedShim(h); failed && len(all) == 0 {
		all = append(all, f)
	}
	return all
}

// failedShim returns the first Create or Start that failed in a shim before the first
// fault. The client gets the error after containerd's cleanup. If a fault fires in the
// cleanup, at Shutdown for example, the client's call does not count as failed before a
// fault.
func failedShim(h *run) (failure, bool) {
	if h.Case.Workload.Fakeshim != "" || h.Case.Workload.Scripted() {
		return failure{}, false // a fake shim may fail on request, and rule responses judges scripts
	}
	for _, hit := range h.Hits {
		if mayHaveBegun(h, hit) {
			return failure{}, false
		}
		begins := hit.Point == "rpc:shim:Task.Create:exit" || hit.Point == "rpc:shim:Task.Start:exit"
		if begins && hit.Err != "" && !namesAbsent(hit.Err) {
			return failure{hit.ID, fact.Facts{
				fact.What: fact.Baseline, fact.Call: hit.Point, fact.Error: hit.Err,
				fact.Message: callerr.Comparable(hit.Err),
			}}, true
		}
	}
	return failure{}, false
}
