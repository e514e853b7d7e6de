package harness

// Outlived is a process that outlived the init of its container. The shim must kill such
// processes.
type Outlived struct {
	Container string `json:"container"`
	PID       int    `json:"pid"`
	Name      string `json:"name"`
}
