// Package child starts commands so that waiting for them always ends.
//
// Wait of os/exec also waits for the end of a command's output. A process that the
// command has left behind may hold that output open, and no context ends such a wait:
// WaitDelay does. A lint rule keeps exec.Command out of the other packages.
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Drain is how long the output of a command is read after the command has ended or its
// context is done.
const Drain = 5 * time.Second

// Command is exec.CommandContext, with a bound for Wait. Wait returns exec.ErrWaitDelay
// when a process that the command has left behind still holds its output.
func Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:forbidigo // here it gets its bound
	cmd.WaitDelay = Drain
	return cmd
}

// ErrOutput reports a program whose output is longer than its caller reads.
var ErrOutput = errors.New("its output is longer than the limit")

// Output runs a program that is not ours and returns its standard output, of at most that
// many bytes. It ends a program that prints more. As root it leaves no process behind:
// the program is the init of a PID namespace, and the kernel kills the rest with it. If
// this process ends, the program ends, too. The program has its own session. A signal to
// its process group does not reach this process.
func Output(ctx context.Context, most int, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := Command(ctx, name, args...)
	out := bounded{most: most, end: func() { cancel(ErrOutput) }}
	cmd.Stdout = &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Cloneflags, cmd.SysProcAttr.Pdeathsig = unix.CLONE_NEWPID, unix.SIGKILL
		runtime.LockOSThread() // the kernel sends the signal when the forking thread ends
		defer runtime.UnlockOSThread()
	}
	err := cmd.Run()
	switch {
	case errors.Is(context.Cause(ctx), ErrOutput):
		return nil, fmt.Errorf("%w: %d bytes", ErrOutput, most)
	case errors.Is(err, unix.EPERM):
		return nil, fmt.Errorf("%w: a PID namespace needs CAP_SYS_ADMIN: run the container with --privileged", err)
	}
	return out.text.Bytes(), err
}

// bounded keeps up to most bytes, and calls end when there are more.
type bounded struct {
	text bytes.Buffer
	most int
	end  func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.most-b.text.Len() {
		b.end()
		return 0, ErrOutput
	}
	return b.text.Write(p)
}
