package judge

import (
	"fmt"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// criFiltered: who asks for those of one id, state or label is told of all of them that
// the lists of all have, and of no other.
func criFiltered(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if h.CRI == nil || !h.Case.Faultless() {
		return nil, nil
	}
	for _, q := range h.CRI.Filtered {
		add := func(id, is, reported, want string) {
			f := about(q.Object, id, q.Field, is, reported, want)
			f.Facts[oracle.FactWhat] = oracle.Listing
			found = append(found, f)
		}
		by := fmt.Sprintf("those by %s %q", q.Field, q.Value)
		if q.Err != nil {
			add("", oracle.NotSet, q.Err.Said, by+" were asked for")
		}
		for _, id := range q.Left {
			add(id, oracle.Other, "that it is none of "+by, "one of them")
		}
		for _, id := range q.Others {
			add(id, oracle.Other, "that it is one of "+by, "none of them")
		}
	}
	return uniqueCauses(found), nil
}

// criRepeated: to stop and to remove what is gone already succeeds.
func criRepeated(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if h.CRI == nil || !h.Case.Faultless() {
		return nil, nil
	}
	for _, r := range h.CRI.Repeated {
		if r.Err != nil && r.Err.Answered {
			found = append(found, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassDaemon,
				Subject: oracle.Subject{ID: r.ID}, Facts: r.Err.Facts(oracle.GoneFails)})
		}
	}
	return found, nil
}

// The conditions of which a kubelet takes its node's; CRI has others.
const (
	runtimeReady = "RuntimeReady"
	networkReady = "NetworkReady"
)

// criConditions: a CRI that runs a pod says that it is ready, and so is the network that
// it has made for the pod. One that makes none need not have any.
func criConditions(h *harness.History) (found []oracle.Finding, _ []harness.Problem) {
	if h.CRI == nil || !h.Case.Faultless() {
		return nil, nil
	}
	for _, is := range h.CRI.Conditions {
		if is.Is || is.Type != runtimeReady &&
			(is.Type != networkReady || h.Case.Workload.Network != harness.PodNetwork) {
			continue
		}
		found = append(found, oracle.Finding{Invariant: oracle.Liveness, Class: oracle.ClassDaemon,
			Facts: oracle.Facts{oracle.FactWhat: oracle.NotReady, oracle.FactMessage: is.Type,
				oracle.FactReported: is.Reason}})
	}
	return found, nil
}
