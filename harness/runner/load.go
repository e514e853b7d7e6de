package runner

import (
	"runtime"

	"github.com/prometheus/procfs"
)

// machineLoad returns the load average of the last minute for each CPU, or 0 if the
// kernel does not report it.
func machineLoad() float64 {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0
	}
	load, err := fs.LoadAvg()
	if err != nil {
		return 0
	}
	return load.Load1 / float64(runtime.NumCPU())
}
