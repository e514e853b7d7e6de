package judge

import (
	"fmt"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
)

// baseline: the workload works as long as nothing is broken. One that fails by itself
// shows nothing about the fault.
func baseline(h *harness.History) (_ []oracle.Finding, out []harness.Problem) {
	for _, c := range h.Calls {
		if c.Unprovoked {
			out = append(out, harness.Problem{Kind: harness.ByBefore, Text: fmt.Sprintf(
				"%s failed before any fault had happened: %s", name(c), c.Err.Text)})
		}
	}
	if text := failedShim(h); text != "" {
		out = append(out, harness.Problem{Kind: harness.ByBefore, Text: text})
	}
	return nil, out
}

func name(c harness.Call) string {
	if c.Of == "" {
		return c.Verb
	}
	return c.Verb + " " + c.Of
}

// failedShim says that a shim could not create or start a container before anything was
// broken: a fault that fires while containerd cleans up after that, at Shutdown for one,
// would otherwise hide that nothing ran. It is known only where probes decide all faults,
// since the others' moments are not among the hits.
func failedShim(h *harness.History) string {
	if h.Case.Workload.Fakeshim != "" || !h.Case.OnlyProbed() {
		return "" // a fake shim may misbehave when told to
	}
	for _, hit := range h.Hits {
		if hit.Fault >= 0 {
			return ""
		}
		if hit.Err != "" && (hit.Point == "rpc:shim:Task.Create:exit" || hit.Point == "rpc:shim:Task.Start:exit") {
			return fmt.Sprintf("%s of %s failed before any fault had happened: %s", hit.Point, hit.ID, hit.Err)
		}
	}
	return ""
}
