package plan

import (
	_ "embed" // the workloads
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/spelling"
)

// workload is a workload that can be swept.
type workload struct {
	Name     string
	Workload harness.Workload
	// Asked is set if the workload runs only when --workload names it, and not in the
	// default sweep.
	Asked bool
	// Contains names the workloads whose steps this one contains. Their known findings may
	// show here, too.
	Contains []string
	// Races is set if two calls of the client race, so that a run can be violated without a
	// fault.
	Races bool
}

//go:embed workload.yaml
var workloadText []byte

// workloads has all workloads, the cheapest first.
var workloads = func() (all []workload) {
	if err := yaml.UnmarshalWithOptions(workloadText, &all, yaml.Strict()); err != nil {
		panic(err)
	}
	return all
}()

// WorkloadNames returns the names of the workloads, the cheapest first.
func WorkloadNames() []string {
	names := make([]string, len(workloads))
	for i, w := range workloads {
		names[i] = w.Name
	}
	return names
}

// DefaultWorkloads returns the names of the workloads of the default sweep.
func DefaultWorkloads() []string {
	return slices.DeleteFunc(WorkloadNames(), func(name string) bool { return workloads[indexOf(name)].Asked })
}

// indexOf returns a workload's index among the workloads, the cheapest first, or -1.
func indexOf(name string) int {
	return slices.IndexFunc(workloads, func(w workload) bool { return w.Name == name })
}

// WithKnownFindingsOf returns the workloads with known findings that may show in the
// named one: itself, and the workloads that it contains.
func WithKnownFindingsOf(name string) []string {
	all := []string{name}
	if name == OwnScript { // a script can contain the steps of every workload of tasks
		return append(all, slices.DeleteFunc(WorkloadNames(), func(n string) bool { return API(n) != harness.TaskAPI })...)
	}
	if i := indexOf(name); i >= 0 {
		all = append(all, workloads[i].Contains...)
	}
	return all
}

// OwnScript is the name that stands for the workload of a random script.
const OwnScript = "script"

// workload returns the workload of a case.
func (s Spec) workload() (harness.Workload, error) {
	if s.Own != nil {
		return *s.Own, nil
	}
	w, err := workloadNamed(s.Workload)
	return w.Workload, err
}

func workloadNamed(name string) (workload, error) {
	if i := indexOf(name); i >= 0 {
		return workloads[i], nil
	}
	return workload{}, spelling.Unknown("workload", name, WorkloadNames())
}

// API returns the API of a workload's client, or "" for an unknown name.
func API(name string) harness.API {
	if i := indexOf(name); i >= 0 {
		return workloads[i].Workload.WithDefaults().API
	}
	return ""
}
