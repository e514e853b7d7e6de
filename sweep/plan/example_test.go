package plan_test

import (
	"fmt"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/sweep/plan"
)

// A plan has a case for each point that was passed and each action that the point takes. Make
// traces real workloads; these passes are made up.
func ExampleNew() {
	shutdown := plan.Hit{
		Point:  failpoints.MustPoint("rpc:shim:Task.Shutdown:entry"),
		Moment: plan.AtMethod, Nth: 1, Path: "delete",
	}
	removal := plan.Hit{
		Point:  failpoints.MustPoint("stmt:containerd:runtime.Bundle.Delete:err-os.Remove"),
		Moment: term.AtCall, Nth: 1, Path: "delete",
	}
	run := []plan.Hit{shutdown, removal}
	p, err := plan.New(plan.Options{Actions: []string{"crash", "error"}}, []plan.Traces{
		{Workload: "task", Runs: [][]plan.Hit{run, run}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range p.Specs {
		fmt.Println(s)
	}
	// Output:
	// rpc:shim:Task.Shutdown:entry crash, delete of task
	// rpc:shim:Task.Shutdown:entry error(injected by shimquake), delete of task
	// stmt:containerd:runtime.Bundle.Delete:err-os.Remove error(injected by shimquake), delete of task
	// stmt:containerd:runtime.Bundle.Delete:err-os.Remove loseResult, delete of task
}

// A case with several faults. A plan varies only the last of them.
func ExampleSpec_Then() {
	at := func(point, path string) plan.Hit {
		return plan.Hit{Point: failpoints.MustPoint(point), Moment: plan.AtMethod, Nth: 1, Path: path}
	}
	s := plan.Single(at("rpc:shim:Task.Create:exit", "create"), "crash", "task").
		Then(at("rpc:containerd:Task.Delete:entry", "delete"), "crash")
	c, err := s.Case("v2.4.2")
	fmt.Println(s)
	fmt.Println(c.Plan, err)
	// Output:
	// rpc:containerd:Task.Delete:entry crash, delete of task + rpc:shim:Task.Create:exit crash, create
	// rpc:shim:Task.Create:exit 1*crash; rpc:containerd:Task.Delete:entry 1*crash <nil>
}
