package harness

// Outlived is a process that outlived the init of its container. Its shim was to kill it.
type Outlived struct {
	Container string `json:"container"`
	PID       int    `json:"pid"`
	Name      string `json:"name"`
}
