package child

import (
	"os"
	"syscall"
)

// WriteProgram writes an executable file that can be started at once. A child that
// another goroutine forks during the write would have the file open until its exec. A
// start of the file would then fail with "text file busy".
func WriteProgram(path string, text []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, text, 0o755)
}
