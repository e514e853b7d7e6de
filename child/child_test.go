package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/must"
)

// One command ends and leaves a process behind that holds its output. Another does not
// end when its context does.
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
			must.Succeed(t, err)
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

// A program leaves processes behind that hold a FIFO. No process has the FIFO open when
// the program has ended.
func TestOutputLeavesNothing(t *testing.T) {
	must.BeRoot(t, "for a PID namespace")
	for name, leave := range map[string]string{
		"one that holds its output": `sleep 1000 &`,
		"a daemon":                  `setsid sh -c 'setsid sleep 1000 >/dev/null &' >/dev/null`,
		"one that is deaf":          `(trap '' TERM HUP INT; sleep 1000) &`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fifo := filepath.Join(t.TempDir(), "held")
			must.Succeed(t, unix.Mkfifo(fifo, 0o600))
			fd := must.Get(unix.Open(fifo, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0))(t)
			defer func() { _ = unix.Close(fd) }()
			out := must.Get(Output(t.Context(), 100, "sh", "-c", "exec 3>\"$0\"\n"+leave+"\necho text", fifo))(t)
			must.Equal(t, string(out), "text\n")
			must.Equal(t, must.Get(unix.Read(fd, make([]byte, 1)))(t), 0, "the FIFO is still open")
		})
	}
}

// killsItsGroup is the environment variable that makes the test's binary a harness. It
// runs a program that kills its process group.
const killsItsGroup = "SHIMQUAKE_TEST_KILLS_ITS_GROUP"

func TestMain(m *testing.M) {
	if os.Getenv(killsItsGroup) == "" {
		os.Exit(m.Run())
	}
	_, _ = Output(context.Background(), 100, "sh", "-c", "kill -9 0") // an init ignores its own signals
	fmt.Print("still there")
}

// A program kills its process group, and the harness is not in it.
func TestOutputIsInASessionOfItsOwn(t *testing.T) {
	self := must.Get(os.Executable())(t)
	cmd := Command(t.Context(), self)
	cmd.Env = append(os.Environ(), killsItsGroup+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // or it would be this test's
	out := must.Get(cmd.Output())(t)
	must.Equal(t, string(out), "still there")
}

// Two processes write without end.
func TestOutputIsBounded(t *testing.T) {
	must.Equal(t, string(must.Get(Output(t.Context(), 4, "echo", "abc"))(t)), "abc\n")
	ctx := must.Within(t, time.Minute)
	if out, err := Output(ctx, 1<<20, "sh", "-c", "yes & exec yes"); !errors.Is(err, ErrOutput) {
		t.Errorf("%d bytes, %v; want ErrOutput", len(out), err)
	}
}
