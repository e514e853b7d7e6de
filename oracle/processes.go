package oracle

import (
	"fmt"

	"github.com/prometheus/procfs"
)

// Processes lists the processes of the scene's PID namespace, and nothing else of the scene.
func Processes(s Scene) ([]Process, error) {
	s = s.withDefaults()
	proc, err := procfs.NewFS(s.Proc)
	if err != nil {
		return nil, fmt.Errorf("open the scene's procfs (is its init alive?): %w", err)
	}
	return processes(proc, s.Own)
}
