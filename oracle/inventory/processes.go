package inventory

// Processes lists only the processes of the scene's PID namespace.
func Processes(s Scene) ([]Process, error) {
	s = s.withDefaults()
	return processes(s.Proc, s.Own)
}
