package process

import (
	"fmt"
	"os"
	"strings"

	"github.com/containerd/errdefs"
)

// open opens one standard stream: a FIFO, a file:// address (appended to), or nothing.
//
// A FIFO is opened for reading and writing, which never waits for the other side
// (fifo(7)). The client's reader sees the end when the process and all heirs of the
// stream have ended.
func open(path string, input bool) (*os.File, error) {
	if path == "" {
		return os.OpenFile(os.DevNull, os.O_RDWR, 0)
	}
	scheme, rest, ok := strings.Cut(path, "://")
	if ok && scheme != "file" && scheme != "fifo" {
		return nil, fmt.Errorf("a fake shim cannot log to %q; use a FIFO or file://: %w", path, errdefs.ErrInvalidArgument)
	}
	if ok {
		path = rest
	}
	if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		return os.OpenFile(path, os.O_RDWR, 0)
	}
	if input {
		return os.Open(path)
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
}
