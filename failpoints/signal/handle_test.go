package signal_test

import (
	"bufio"
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/must"
)

// child starts a real process that prints a line when it runs, and is gone after the
// test.
func child(t *testing.T, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "up\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	return cmd
}

func open(t *testing.T, pid int) *signal.Handle {
	t.Helper()
	id := must.Get(signal.Identify(pid))(t)
	h := must.Get(signal.OpenSame(id))(t)
	t.Cleanup(func() { must.Succeed(t, h.Close()) })
	return h
}

const forever = "echo up; while :; do read line </dev/zero; done" // busy: it never ends by itself

func TestKillReturnsWhenTheProcessHasEnded(t *testing.T) {
	cmd := child(t, "echo up; exec sleep 600")
	h := open(t, cmd.Process.Pid)
	must.Succeed(t, h.Kill(must.Within(t, 10*time.Second)))
	// The process is not reaped yet, but a zombie: a second kill must not count as a
	// fault.
	must.Is(t, h.Kill(must.Within(t, time.Second)), signal.ErrGone, "second Kill")
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(interface{ Signal() unix.Signal }).Signal() != unix.SIGKILL {
		t.Errorf("the process ended with %v, want SIGKILL", err)
	}
	must.Is(t, h.Term(), signal.ErrGone, "Term after the reaping")
}

func TestStopAndCont(t *testing.T) {
	pid := child(t, forever).Process.Pid
	h := open(t, pid)
	isStopped := func() bool {
		p, err := procfs.NewProc(pid)
		if err != nil {
			t.Fatal(err)
		}
		st, err := p.Stat()
		return err == nil && st.State == "T"
	}
	if isStopped() {
		t.Fatal("it is stopped already")
	}
	must.Succeed(t, h.Stop(must.Within(t, 10*time.Second)))
	if !isStopped() {
		t.Fatal("Stop has not stopped it")
	}
	must.Succeed(t, h.Cont(must.Within(t, 10*time.Second)))
	if isStopped() {
		t.Fatal("Cont has not continued it")
	}
	must.Succeed(t, h.Kill(must.Within(t, 10*time.Second)))
	must.Is(t, h.Stop(must.Within(t, time.Second)), signal.ErrGone, "Stop of a zombie")
}

func TestTermReachesTheProcess(t *testing.T) {
	cmd := child(t, "trap 'exit 7' TERM; echo up; while :; do sleep 0.01; done")
	h := open(t, cmd.Process.Pid)
	must.Succeed(t, h.Term())
	must.Succeed(t, h.Wait(must.Within(t, 10*time.Second)))
	_ = cmd.Wait()
	must.Equal(t, cmd.ProcessState.ExitCode(), 7, "the trap's exit code")
}

func TestWaitEndsWithItsContext(t *testing.T) {
	h := open(t, child(t, "echo up; exec sleep 600").Process.Pid)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the case is over")
	cancel(why)
	must.Is(t, h.Wait(ctx), why, "Wait")
	// The end of one wait must not end another.
	done := make(chan error, 1)
	go func() { done <- h.Wait(must.Within(t, 10*time.Second)) }()
	must.Is(t, h.Wait(must.Within(t, 20*time.Millisecond)), context.DeadlineExceeded, "Wait")
	must.Succeed(t, h.Kill(must.Within(t, 10*time.Second)))
	if err := <-done; err != nil {
		t.Errorf("the other waiter: %v", err)
	}
}

func TestAnotherStartTimeIsAnotherProcess(t *testing.T) {
	cmd := child(t, "echo up; exec sleep 600")
	id := must.Get(signal.Identify(cmd.Process.Pid))(t)
	for name, id := range map[string]signal.Identity{
		"recycled pid":   {PID: id.PID, Start: id.Start - 1},
		"no such pid":    {PID: 1<<22 + 1, Start: 1},
		"later of a pid": {PID: id.PID, Start: id.Start + 1},
	} {
		must.Is(t, must.ErrorOf(signal.OpenSame(id)), signal.ErrGone, name)
	}
	h, err := signal.OpenSame(id)
	must.Succeed(t, err, "the same process")
	must.Succeed(t, errors.Join(h.Close(), h.Close()))
	must.Fail(t, h.Signal(unix.SIGTERM), "Signal after Close: no error")
}

func TestIdentifyAMissingProcess(t *testing.T) {
	cmd := child(t, "echo up")
	_ = cmd.Wait()
	must.Is(t, must.ErrorOf(signal.Identify(cmd.Process.Pid)), signal.ErrGone, "Identify of a reaped pid")
}
