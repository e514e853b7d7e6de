package runner_test

import (
	"context"
	"fmt"
	"os"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/runner"
)

// A run takes root, and some 300 ms once containerd is built. The newest release cleans
// up when Shutdown fails once.
func ExampleRunner_Run() {
	dir, err := os.MkdirTemp("", "evidence")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := &runner.Runner{Residues: catalogue.Residues(), Evidence: dir}
	v := r.Run(context.Background(), harness.Case{
		Name:     "shutdown-error",
		Workload: harness.Workload{Containers: []harness.Container{{Exit: 7}}},
		Plan:     failpoints.Plan{failpoints.Error("rpc:shim:Task.Shutdown:entry", 1, "Unavailable")},
	})
	fmt.Println(v.Outcome)
	fmt.Println(v.Firings[0].Count, v.History.Reached)
	// Output:
	// held
	// 1 completed
}
