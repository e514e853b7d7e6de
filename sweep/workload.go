package sweep

import (
	"slices"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
)

// workload is one of those that are swept.
type workload struct {
	name string
	harness.Workload
}

// workloads are all of them, the cheapest first: a point is swept in the first that reaches it.
var workloads = []workload{
	{"task", harness.Workload{Containers: []harness.Container{{Exit: 7}}}},
	{"restart", harness.Workload{Restart: true, Containers: []harness.Container{{Exit: 3}, {Exit: 7}}}},
	{"cri", harness.Workload{API: harness.CRI, Containers: []harness.Container{{Exit: 7}, {Signal: "SIGTERM"}}}},
}

// WorkloadNames are the names of the workloads, the cheapest first.
func WorkloadNames() []string {
	names := make([]string, len(workloads))
	for i, w := range workloads {
		names[i] = w.name
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
