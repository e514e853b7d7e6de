package child

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"
)

// A command ends and leaves a process behind that holds its output; and one does not end
// when its context does.
func TestWaitIsBounded(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name, script string
		ctx          context.Context
	}{
		{"left behind", "cat <&3 & exit 0", t.Context()},
		{"its context has ended", "cat <&3; exit 0", ended},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			held, release, err := os.Pipe() // the script waits for it
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = errors.Join(release.Close(), held.Close()) }()
			cmd := Command(c.ctx, "sh", "-c", c.script)
			cmd.ExtraFiles = []*os.File{held}
			cmd.WaitDelay /= 50 // the test need not wait for all of it
			done := make(chan error, 1)
			go func() { _, err := cmd.Output(); done <- err }()
			select {
			case err := <-done:
				if !errors.Is(err, exec.ErrWaitDelay) && !errors.Is(err, context.Canceled) {
					t.Errorf("%v, want ErrWaitDelay or Canceled", err)
				}
			case <-time.After(time.Minute):
				t.Error("it is still waited for")
			}
		})
	}
}
