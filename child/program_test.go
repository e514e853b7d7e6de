package child

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/shimquake/shimquake/must"
)

// A program can be started at once, while other goroutines start programs.
func TestAWrittenProgramCanBeStarted(t *testing.T) {
	dir := t.TempDir()
	var others sync.WaitGroup
	defer others.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 4 {
		others.Go(func() {
			for ctx.Err() == nil {
				_ = exec.Command("/bin/true").Run() // only the fork matters
			}
		})
	}
	for n := range 300 {
		path := filepath.Join(dir, strconv.Itoa(n))
		must.Succeed(t, WriteProgram(path, []byte("#!/bin/true\n")))
		must.Succeed(t, exec.Command(path).Run(), "program", n)
	}
}
