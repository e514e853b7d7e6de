package report_test

import (
	"testing"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// began is the time at which the runs of these tests begin.
var began = time.Date(2026, 11, 22, 6, 33, 4, 0, time.UTC)

// at returns a time of a run, in milliseconds.
func at(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }

func hit(ms, pid int, who, point, id string) failpoints.Hit {
	h := failpoints.Hit{Hit: probe.Hit{Point: point, ID: id}, Who: who, PID: pid, Time: at(ms), Did: "off", Fault: -1}
	return h
}

// ran returns a run of a container that exits with 7. Its shim, 27, is shut down at 300
// ms.
func ran(name string) harness.Verdict {
	w := harness.Workload{Containers: []harness.Container{{Exit: 7}}}
	h := &harness.History{
		Case: harness.Case{Name: name, Containerd: "v2.3.7", Workload: w},
		Run: harness.Run{
			Version: "v2.3.7",
			Machine: harness.Machine{Kernel: "6.18", Cgroups: "v2", CPUs: 2},
			Reached: harness.Completed,
			Began:   began,
			Took:    7 * time.Second,
			Done:    at(320),
		},
		Instances: []harness.Instance{{Name: "c0", ID: "c0", PID: 50, Waited: at(250), Deleted: at(310),
			Payload: payload.Truth{Runs: 1, StartedAt: at(200), ExitedAt: at(240), Exited: true, Status: 7}}},
		Log: harness.Log{
			Calls: []harness.Call{
				{Who: "client", Verb: "create", Of: "c0", At: at(100), Took: 50 * time.Millisecond},
				{Who: "client", Verb: "delete", Of: "c0", At: at(290), Took: 20 * time.Millisecond},
			},
			Hits: []failpoints.Hit{
				hit(120, 27, "shim", "rpc:shim:Task.Create:entry", "c0"), hit(140, 27, "shim", "rpc:shim:Task.Create:exit", "c0"),
				hit(299, 11, "containerd", "rpc:containerd:Task.Shutdown:entry", "c0"),
				hit(300, 27, "shim", "rpc:shim:Task.Shutdown:entry", "c0"),
				hit(301, 27, "shim", "rpc:shim:Task.Shutdown:exit", "c0"),
				hit(302, 11, "containerd", "rpc:containerd:Task.Shutdown:exit", "c0"),
			},
			Exits: []harness.Exit{{PID: 27, At: at(305)}},
			Events: []event.Task{
				{Topic: "/tasks/exit", Container: "c0", PID: 50, Status: 7, Sent: at(245), Seen: at(246)},
			},
		},
		After: &harness.Inspection{At: at(6320)},
	}
	return harness.Verdict{Case: h.Case, Name: name, Outcome: harness.Held, Version: h.Version, Took: h.Took, History: h,
		Truths: []exit.Truth{{Container: "c0", Status: 7, Source: "its own record"}}}
}

// leaked returns the same run with a failed Shutdown and a leaked shim.
func leaked(name string) harness.Verdict {
	v := ran(name)
	h := v.History
	h.Case.Plan = failpoints.Plan{failpoints.Fault{At: failpoints.MustPoint("rpc:shim:Task.Shutdown:entry")}}
	h.Hits[3].Fault, h.Hits[3].Did, h.Hits[4].Err = 0, "error", "injected"
	h.Firings = []harness.Firing{
		{Text: "rpc:shim:Task.Shutdown:entry 1*error(injected)", Count: 1, Proof: "counted by the probe"},
	}
	h.Exits = nil
	v.Outcome, v.Firings = harness.Violated, h.Firings
	v.Findings = []finding.Finding{{Invariant: finding.Leak, Class: finding.ClassShim,
		Subject: finding.Subject{PID: 27, ID: "c0", Namespace: "shimquake", Name: "containerd-shim-runc-v2"},
		Facts:   fact.Facts{fact.Task: fact.None, fact.Bundle: fact.Gone}}}
	return v
}

// lied returns the same run with another exit status in the event.
func lied(t testing.TB, name string) harness.Verdict {
	t.Helper()
	v := ran(name)
	v.History.Events[0].Status = 255
	v.Outcome = harness.Violated
	v.Findings = []finding.Finding{{Invariant: finding.Exit, Class: finding.ClassExitCode,
		Subject: finding.Subject{ID: "c0"},
		Facts:   fact.Facts{fact.By: string(exit.ByTaskExit)}}}
	return v
}
