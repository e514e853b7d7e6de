package inventory

// Processes lists the processes of the scene's PID namespace, and nothing else of the
// scene.
func Processes(s Scene) ([]Process, error) {
	s = s.withDefaults()
	return processes(s.Proc, s.Own)
}
