package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/child"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/must"
)

// deaf starts the program while it waits for something that no context ends: the rest of
// a report on its standard input. It returns its standard error.
func deaf(t *testing.T) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	self := must.Get(os.Executable())(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, "repro", "-")
	cmd.Env = append(os.Environ(), "SHIMQUAKE_TEST_MAIN=1")
	in := must.Get(cmd.StdinPipe())(t)
	complaint := must.Get(cmd.StderrPipe())(t)
	must.Succeed(t, cmd.Start())
	// More than a pipe holds: when it is written, the program reads, and hears of signals.
	must.Get(io.WriteString(in, strings.Repeat("x\n", 100<<10)))(t)
	return cmd, bufio.NewReader(complaint)
}

// The first signal comes twice at once, as from timeout(1): to the command and its group.
func TestASecondSignalEndsIt(t *testing.T) {
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP) // else the program ignores it under `nohup`
	for sig, twin := range map[unix.Signal]unix.Signal{ // two of one kind could arrive as one
		unix.SIGINT: unix.SIGTERM, unix.SIGTERM: unix.SIGHUP, unix.SIGHUP: unix.SIGINT,
	} {
		cmd, complaint := deaf(t)
		must.Succeed(t, errors.Join(cmd.Process.Signal(twin), cmd.Process.Signal(sig)))
		must.Contain(t, must.Get(complaint.ReadString('\n'))(t), "a second signal ends it", "after the first", sig)
		must.Succeed(t, cmd.Process.Signal(sig))
		_ = cmd.Wait() // the test checks the exit status below
		must.Equal(t, cmd.ProcessState.ExitCode(), 128+int(sig), "after the second", sig, "status")
	}
}

// interruptBuild sends a signal to a build while it asks a containerd for its version,
// which waits for a process that holds its output. It returns the status of the build
// when all processes have ended that the containerd has left.
func interruptBuild(t *testing.T, sig unix.Signal) int {
	t.Helper()
	dir := t.TempDir()
	running := filepath.Join(dir, "running") // held by the processes of the containerd
	must.Succeed(t, unix.Mkfifo(running, 0o600))
	script := fmt.Sprintf("#!/bin/sh\nexec 3>%s\nsetsid sleep 1000 &\necho >&3\nwait\n", running)
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "runc"} {
		must.Succeed(t, child.WriteProgram(filepath.Join(dir, name), []byte(script)))
	}
	self := must.Get(os.Executable())(t)
	ctx := must.Within(t, time.Minute)
	cmd := exec.CommandContext(ctx, self, "build", "--binaries", "bin:"+dir)
	cmd.Env = append(os.Environ(), "SHIMQUAKE_TEST_MAIN=1")
	must.Succeed(t, cmd.Start())
	held := must.Get(os.Open(running))(t)
	defer func() { _ = held.Close() }()
	if _, err := held.Read(make([]byte, 1)); err != nil { // they run
		t.Fatal(err)
	}
	must.Succeed(t, cmd.Process.Signal(sig))
	_ = cmd.Wait() // the test checks the exit status below
	if os.Geteuid() != 0 {
		return cmd.ProcessState.ExitCode() // it had no PID namespace
	}
	must.Succeed(t, held.SetReadDeadline(time.Now().Add(time.Minute)))
	must.Is(t, must.ErrorOf(held.Read(make([]byte, 1))), io.EOF, "a process is left after", sig)
	return cmd.ProcessState.ExitCode()
}

func TestABuildThatIsInterruptedIsInvalid(t *testing.T) {
	must.Equal(t, interruptBuild(t, unix.SIGTERM), statusInvalid, "status")
}

// The kernel ends what a killed build has started.
func TestABuildThatIsKilledLeavesNoProcess(t *testing.T) {
	must.BeRoot(t, "for a PID namespace")
	interruptBuild(t, unix.SIGKILL)
}

// The reader of the verdicts goes, as head -1 does, while another case still runs. The
// command undoes that.
func TestABrokenPipeCleansUp(t *testing.T) {
	must.BeRoot(t, "for worlds")
	dir := must.ShortDir(t)
	self := must.Get(os.Executable())(t)
	ctx := must.Within(t, 10*time.Minute) // a first build takes minutes
	cmd := exec.CommandContext(ctx, self, "run", "--out", filepath.Join(dir, "out"), "plain-exec", "plain-exit")
	cmd.Env = append(os.Environ(), "SHIMQUAKE_TEST_MAIN=1", "SHIMQUAKE_DIR="+dir)
	reader, writer, err := os.Pipe()
	must.Succeed(t, err)
	cmd.Stdout = writer
	must.Succeed(t, errors.Join(reader.Close(), cmd.Start(), writer.Close()))
	_ = cmd.Wait() // the test checks the exit status below
	must.Equal(t, cmd.ProcessState.ExitCode(), 128+int(unix.SIGPIPE), "status")
	left := must.Get(filepath.Glob(filepath.Join(dir, "worlds", "w*")))(t)
	must.Len(t, left, 0, "worlds are left")
}

// Bisect ends with 2 when its flags are wrong, and with 3 when it is interrupted.
func TestStatusOfAnInterruptedCommand(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	usage := &harness.InputError{File: "case.yaml", Err: errors.New("no such key")}
	f := bisectFlags{good: "v2.4.2", bad: "v2.3.7", confidence: 0.99, runs: 1, parallel: 1}
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		want int
	}{
		{"bisect", ended, f.run(ended, "plain-exit", io.Discard), statusInvalid},
		{"usage", t.Context(), usage, statusUsage},
		{"violated", ended, statusError{status: statusViolated}, statusViolated},
		{"git bisect", ended, statusError{gitAbort, context.Canceled}, gitAbort},
		{"held", ended, nil, statusHeld},
	} {
		got, status := interrupted(c.ctx, c.err), statusUsage
		var se statusError
		if errors.As(got, &se) {
			status = se.status
		}
		if got == nil {
			status = statusHeld
		}
		must.Equal(t, status, c.want, c.name, "status of", got)
	}
}
