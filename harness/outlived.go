package harness

// Outlived is a process that still ran after the init of its container had exited. The
// shim must kill such processes.
type Outlived struct {
	Container string `json:"container"`
	PID       int    `json:"pid"`
	Name      string `json:"name"`
}
