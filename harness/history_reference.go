package harness

// Reference reports whether this machine can run a workload.
type Reference struct {
	Version string  `json:"containerd"`
	Outcome Outcome `json:"verdict"`
	// Why is why the reference did not hold, for people.
	Why string `json:"why,omitempty"`
}

// MachineCan reports whether it is known that this machine can run the workload.
func (h *History) MachineCan() bool { return h.Reference != nil && h.Reference.Outcome == Held }

// MachineCannot reports whether it is known that this machine cannot run it.
func (h *History) MachineCannot() bool { return h.Reference != nil && h.Reference.Outcome != Held }
