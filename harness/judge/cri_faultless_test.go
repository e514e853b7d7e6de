package judge

import (
	"testing"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/fact"
)

// planned has a case with a fault, which never comes to anything.
func planned(h *harness.History) { h.Case.Workload.Fakeshim = "exit-late" }

// listsStopped has CRI list the sandbox when it was stopped.
func listsStopped(state string) func(*harness.History) {
	return also(listed(fact.ASandbox, "pod", state), func(h *harness.History) { h.CRI.States[0].Stopped = true })
}

// repeated has CRI answer to a stop of the pod that is gone.
func repeated(err *callerr.Failed) func(*harness.History) {
	return func(h *harness.History) {
		h.CRI.Repeated = append(h.CRI.Repeated, harness.CRIRepeated{Verb: "StopPodSandbox", ID: "pod", At: at(48), Err: err})
	}
}

// podTaken has CRI answer to the use of the name of the pod that there is.
func podTaken(said string) func(*harness.History) {
	return also(taken(said), func(h *harness.History) { h.CRI.Names[0].Object = fact.APod })
}

func TestRulesOfFaultlessPods(t *testing.T) {
	gone := failed("NotFound", "no such pod")
	gone.Answered = true
	silent := failed("Unavailable", "connection refused")
	silent.Answered = false
	for name, tc := range map[string]row{
		"a stopped sandbox that is not ready": {listsStopped(criview.NotReady), ""},
		"one that is listed as ready": {listsStopped(criview.Ready),
			"status cri-status object=sandbox field=state is=too-late what=listing"},
		"one that is not listed": {listsStopped(""),
			"status cri-status object=sandbox field=state is=other what=listing"},
		"a fault may have kept its end from CRI": {also(listsStopped(criview.Ready), killsShimAt(30)), ""},

		"who stops what is gone":       {repeated(nil), ""},
		"who stops it, and hears why":  {repeated(gone), "liveness containerd what=gone-fails code=NotFound"},
		"who stops it, and is not met": {repeated(silent), ""},

		"a pod's name that is taken": {podTaken("failed to reserve sandbox name: name is reserved for 1"), ""},
		"a pod's name that is free": {podTaken(`no runtime for "shimquake-absent" is configured`),
			"liveness container what=name-free object=pod"},
	} {
		t.Run(name, func(t *testing.T) {
			h := pod()
			tc.change(&h)
			if got := says(Judge(h, catalogued), tc.want); got != "" {
				t.Errorf("%s; want %q\n%s", got, tc.want, Judge(h, catalogued))
			}
		})
	}
}

// What is asked of cases without a fault alone is judged of those alone.
func TestFaultsMayExplainIt(t *testing.T) {
	h := pod()
	repeated(&callerr.Failed{Answered: true, Code: "NotFound"})(&h)
	if found, _ := criRepeated(&h); len(found) != 1 {
		t.Errorf("without a fault: %v, want one", found)
	}
	planned(&h)
	if found, _ := criRepeated(&h); len(found) != 0 {
		t.Errorf("with a fault: %v, want none", found)
	}
}
