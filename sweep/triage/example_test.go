package triage_test

import (
	"fmt"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
	"github.com/shimquake/shimquake/sweep/triage"
)

// Two of three cases have the same finding: one cluster, with the window of its points.
//
//nolint:lll // the report does not wrap its lines
func ExampleNewReport() {
	p := plan.Plan{Version: "v2.4.2", Digest: "4836be6dd953e300", Places: map[failpoints.Point]plan.Place{}}
	for line, statement := range []string{"fork", "parse", "connect"} {
		at := failpoints.MustPoint("stmt:containerd:runtime.binary.Start:" + statement)
		p.Specs = append(p.Specs, plan.Single(plan.Hit{Point: at, Nth: 1, Path: "create"}, "crash", "task"))
		p.Places[at] = plan.Place{File: "core/runtime/v2/binary.go", Line: 100 + line}
	}
	shim := finding.Finding{
		Invariant: finding.Leak, Class: finding.ClassShim, Subject: finding.Subject{PID: 41},
		Facts: fact.Facts{fact.Task: fact.None, fact.Bundle: fact.Gone},
	}
	results := []journal.Result{
		{I: 0, Outcome: harness.Held},
		{I: 1, Outcome: harness.Violated, Found: []finding.Finding{shim}},
		{I: 2, Outcome: harness.Violated, Found: []finding.Finding{shim}},
	}
	fmt.Println(triage.NewReport(journal.Head{Plan: p}, results, nil))
	// Output:
	// sweep of containerd v2.4.2, plan 4836be6dd953e300
	// 3 cases planned, 3 executed, 3 fired: 1 held, 2 violated, 0 invalid
	//
	// NEW: shim-containerd-runtime.binary.start: when containerd dies: 2 points, 2 cases (actions: crash 2; paths: create 2; workloads: task 2)
	//     left:  leak shim: task=none bundle=gone
	//     where: containerd runtime.binary.Start core/runtime/v2/binary.go:101..102 (2 of 2 points)
	//
	// 1 new, 0 known by a fix, 0 open without a fix
}
