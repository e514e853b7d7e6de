package harness

// Reference is the result of a run of the workload without faults on the default release.
// If it held, this machine can run the workload.
type Reference struct {
	Version string  `json:"containerd"`
	Outcome Outcome `json:"verdict"`
	// Why says why the reference did not hold, for people.
	Why string `json:"why,omitempty"`
}

// MachineCan reports whether a reference run showed that this machine can run the
// workload.
func (h *History) MachineCan() bool { return h.Reference != nil && h.Reference.Outcome == Held }

// MachineCannot reports whether a reference run showed that this machine cannot run the
// workload.
func (h *History) MachineCannot() bool { return h.Reference != nil && h.Reference.Outcome != Held }
