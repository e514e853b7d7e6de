// Package child makes commands that this program cannot wait for without end.
//
// Wait of os/exec also waits for the end of a command's output. A process that the
// command has left behind may hold that open, and no context ends such a wait: WaitDelay
// does. A lint rule keeps exec.Command out of the other packages.
package child

import (
	"context"
	"os/exec"
	"time"
)

// Drain is how long the output of a command is read after its end, or after that of its
// context.
const Drain = 5 * time.Second

// Command is exec.CommandContext, with a bound for Wait. Wait returns exec.ErrWaitDelay
// when a process that the command has left behind still holds its output.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:forbidigo // here it gets its bound
	cmd.WaitDelay = Drain
	return cmd
}
