package sweep

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
)

// workload is one of those that are swept.
type workload struct {
	name string
	harness.Workload
	// asked is set for a workload that is only swept where it is asked for.
	asked bool
}

// workloads are all of them, the cheapest first: a point is swept in the first that reaches it.
var workloads = []workload{
	{name: "task", Workload: harness.Workload{Containers: []harness.Container{{Exit: 7}}}},
	{name: "deleters", Workload: harness.Workload{Deleters: 2, CallTimeout: 3 * time.Second, Containers: []harness.Container{{Signal: "SIGTERM"}}}, asked: true},
	{name: "two", Workload: harness.Workload{Containers: []harness.Container{{Exit: 3}, {Exit: 7}}}, asked: true},
	{name: "grouped", Workload: harness.Workload{Grouped: true, Containers: []harness.Container{{Exit: 3}, {Exit: 7}}}, asked: true},
	{name: "restart", Workload: harness.Workload{Restart: true, Containers: []harness.Container{{Exit: 3}, {Exit: 7}}}},
	{name: "cri", Workload: harness.Workload{API: harness.CRI, Containers: []harness.Container{{Exit: 7}, {Signal: "SIGTERM"}}}},
}

// WorkloadNames are the names of the workloads, the cheapest first.
func WorkloadNames() []string {
	names := make([]string, len(workloads))
	for i, w := range workloads {
		names[i] = w.name
	}
	return names
}

// DefaultWorkloads are the names of those that are swept when none is asked for.
func DefaultWorkloads() []string {
	var names []string
	for _, w := range workloads {
		if !w.asked {
			names = append(names, w.name)
		}
	}
	return names
}

// cost orders workloads by what a case of them takes.
func cost(name string) int { return slices.Index(WorkloadNames(), name) }

func workloadNamed(name string) (workload, error) {
	if i := cost(name); i >= 0 {
		return workloads[i], nil
	}
	return workload{}, unknown("workload", name, WorkloadNames())
}

// unknown is the error of a name that is not among known.
func unknown(what, name string, known []string) error {
	return &failpoints.UnknownError{What: what, Name: name, Nearest: failpoints.Nearest(name, known), Known: known}
}
