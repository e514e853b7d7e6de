package inventory

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/shimquake/shimquake/must"
)

// A process that cannot finish its exit has no executable and no command line, like a
// kernel thread. Its parent may be process 2.
func TestKernelThreadsAreKnownByTheirFlag(t *testing.T) {
	dir := t.TempDir()
	for pid, flags := range map[int]int{20: 0x00208040, 21: 0x0040040c} { // kworker; PF_EXITING
		at := filepath.Join(dir, fmt.Sprint(pid))
		must.Succeed(t, os.Mkdir(at, 0o755))
		stat := fmt.Sprintf(
			"%d (some) D 2 0 0 0 -1 %d 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 "+
				"0 0 0\n",
			pid,
			flags,
		)
		for name, text := range map[string]string{"stat": stat, "cmdline": ""} {
			must.Succeed(t, os.WriteFile(filepath.Join(at, name), []byte(text), 0o644))
		}
	}
	got := must.Get(processes(dir, func(int) bool { return false }))(t)
	must.Len(t, got, 1)
	must.Equal(t, got[0].PID, 21)
}
