package harness_test

import (
	"fmt"

	"github.com/shimquake/shimquake/harness"
)

// A case is a few lines of YAML. Each error has its place.
func ExampleParseCase() {
	c, err := harness.ParseCase("leak.yaml", []byte(`
name: my-leak
workload:
  containers:
    - exit: 7
plan:
  - at: rpc:shim:Task.Shutdown:entry
    do: 1*error(Unavailable)
`))
	fmt.Println(c.Name, c.Plan, err)

	_, err = harness.ParseCase("leak.yaml", []byte("name: my-leak\nworklaod: {}\n"))
	fmt.Println(err)
	// Output:
	// my-leak rpc:shim:Task.Shutdown:entry 1*error(Unavailable) <nil>
	// leak.yaml:2:1: key "worklaod" is unknown, did you mean "workload"?
}
