package runner

import (
	"runtime"

	"github.com/prometheus/procfs"
)

// machineLoad is how many processes each CPU has had to do with in the last minute; 0
// where the kernel does not tell.
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
