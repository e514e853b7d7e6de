package fakeshim

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	bootstrap "github.com/containerd/containerd/api/runtime/bootstrap/v1"
	task "github.com/containerd/containerd/api/runtime/task/v3"
	"google.golang.org/protobuf/proto"

	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/shims/fakeshim/record"
)

// says returns the annotation with words of package behaviour.
func says(words string) map[string]string { return map[string]string{"shimquake.fakeshim": words} }

func TestBootstrapMisbehaves(t *testing.T) {
	h := newHost(t)
	for words, check := range map[string]func(answer string, socket string) bool{
		"bootstrap=garbage": func(answer, socket string) bool { return answer != "" && !strings.Contains(answer, socket) },
		"bootstrap=empty":   func(answer, _ string) bool { return answer == "" },
		"bootstrap=old":     func(answer, socket string) bool { return answer == "unix://"+socket },
		"bootstrap=nowhere": func(answer, socket string) bool { return strings.Contains(answer, socket+".nowhere") },
		"bootstrap=future": func(answer, _ string) bool {
			var v bootstrap.BootstrapResult
			return proto.Unmarshal([]byte(answer), &v) == nil && v.Version == 99
		},
	} {
		t.Run(words, func(t *testing.T) {
			id := strings.ReplaceAll(words, "=", "-")
			h.bundle(t, id, "exit 0", says(words))
			answer := string(h.start(t, id))
			socket := h.newSocket(t)
			h.dial(t, id, socket) // the shim runs, whatever its response: containerd must not leak it
			if !check(answer, socket) {
				t.Errorf("answer %q of the shim at %s", answer, socket)
			}
			must.Succeed(t, os.Remove(socket))
		})
	}
}

// newSocket returns the only socket of the host.
func (h *host) newSocket(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(h.sockets)
	if err != nil || len(entries) != 1 {
		t.Fatalf("sockets %v, %v; want one", entries, err)
	}
	return filepath.Join(h.sockets, entries[0].Name())
}

func TestStartMisbehaves(t *testing.T) {
	h := newHost(t)
	t.Run("an unknown word", func(t *testing.T) {
		h.bundle(t, "unknown", "exit 0", says("colour=red"))
		cmd, stderr := h.command(t.Context(), t, "unknown", "start")
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), `"colour=red"`) {
			t.Errorf("%v, %s; want status 1 and the word", err, stderr)
		}
	})
	t.Run("refuse", func(t *testing.T) {
		h.bundle(t, "refuse", "exit 0", says("start=refuse"))
		cmd, stderr := h.command(t.Context(), t, "refuse", "start")
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), "as asked") {
			t.Errorf("%v, %s", err, stderr)
		}
		must.Len(t, must.Get(os.ReadDir(h.sockets))(t), 0, "it refused and made a socket")
	})
	t.Run("late", func(t *testing.T) {
		h.bundle(t, "late", "exit 0", says("start=late(300ms)"))
		began := time.Now()
		h.start(t, "late")
		if took := time.Since(began); took < 300*time.Millisecond {
			t.Errorf("answered after %v, want at least 300ms", took)
		}
		h.forget(t, "late")
	})
	t.Run("fail", func(t *testing.T) {
		h.bundle(t, "fail", "exit 0", says("start=fail"))
		cmd, _ := h.command(t.Context(), t, "fail", "start")
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("%v, want status 1", err)
		}
		h.forget(t, "fail")
	})
	t.Run("hang", func(t *testing.T) {
		h.bundle(t, "hang", "exit 0", says("start=hang"))
		ctx := must.Within(t, 300*time.Millisecond)
		cmd, stderr := h.command(ctx, t, "hang", "start")
		out, err := cmd.Output()
		if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL || len(out) != 0 {
			t.Errorf("%v, answer %q, %s; want it to be killed by us", err, out, stderr)
		}
		h.forget(t, "hang") // killing the helper does not kill the shim
	})
}

// forget checks that a shim runs, and ends it with its socket.
func (h *host) forget(t *testing.T, id string) {
	t.Helper()
	socket := h.newSocket(t)
	h.dial(t, id, socket)
	must.Succeed(t, os.Remove(socket))
}

func TestReportsLie(t *testing.T) {
	h := newHost(t)
	s := h.run(t, "c1", "exit 7", says("wait=1,state=2,delete=3"))
	s.begin(t, h, "c1")
	must.Equal(t, s.wait(t, "c1", ""), 1, "Wait says")
	must.Equal(t, must.Get(s.State(t.Context(), &task.StateRequest{ID: "c1"}))(t).ExitStatus, 2, "State")
	truth, noted := h.exited(t, "c1")
	must.Equal(t, must.Get(s.Delete(t.Context(), &task.DeleteRequest{ID: "c1"}))(t).ExitStatus, 3, "Delete")
	if truth.Status != 7 || noted.Status != 7 {
		t.Errorf("truth %d, noted %d; want 7: only reports are wrong", truth.Status, noted.Status)
	}
}

func TestShutdownIsIgnored(t *testing.T) {
	h := newHost(t)
	s := h.run(t, "c1", "exit 0", says("shutdown=ignore,sigterm=ignore"))
	must.Equal(t, must.ErrorOf(s.Shutdown(t.Context(), &task.ShutdownRequest{ID: "c1"})), nil, "Shutdown")
	must.Succeed(t, s.handle.Term())
	must.Equal(t, must.ErrorOf(s.Connect(t.Context(), &task.ConnectRequest{ID: "c1"})), nil, "the shim is gone")
}

func TestSIGTERM(t *testing.T) {
	h := newHost(t)
	s := h.run(t, "c1", "exit 0", says("socket=leave"))
	must.Succeed(t, s.handle.Term())
	s.gone(t)
	must.Equal(t, must.ErrorOf(os.Stat(s.socket)), nil, "the socket was to stay")
}

// cleanup runs the delete command of a bundle, as containerd does after the end of a
// shim.
func (h *host) cleanup(t *testing.T, id string) (*task.DeleteResponse, error) {
	t.Helper()
	cmd, stderr := h.command(t.Context(), t, id, "delete")
	cmd.Stdin = nil
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.Join(err, errors.New(stderr.String()))
	}
	var resp task.DeleteResponse
	return &resp, proto.Unmarshal(out, &resp)
}

func TestCleanupAfterDeadShim(t *testing.T) {
	h := newHost(t)
	kill := func(t *testing.T, s *shim) {
		t.Helper()
		must.Succeed(t, s.handle.Kill(must.Within(t, soon)))
	}
	t.Run("the task runs", func(t *testing.T) {
		s := h.run(t, "runs", "wait", nil)
		pid := s.begin(t, h, "runs")
		kill(t, s)
		init := must.Get(record.ReadInit(filepath.Join(h.dir, "runs")))(t)
		left, err := signal.OpenSame(init)
		must.Succeed(t, err, "the task died with its shim")
		defer func() { _ = left.Close() }()
		resp := must.Get(h.cleanup(t, "runs"))(t)
		must.Equal(t, resp.ExitStatus, 137, "delete command")
		must.Equal(t, resp.Pid, pid, "delete command")
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := left.Wait(over); err != nil {
			t.Errorf("the task lives on: %v", err)
		}
	})
	t.Run("the task was created", func(t *testing.T) {
		s := h.run(t, "created", "exit 0", nil)
		pid := s.create(t, h, "created")
		kill(t, s)
		if resp, err := h.cleanup(t, "created"); err != nil || resp.ExitStatus != 137 || resp.Pid != pid {
			t.Errorf("delete command: %v, %v; want 137 of pid %d", resp, err, pid)
		}
		must.Len(t, must.Get(os.ReadFile(filepath.Join(h.dir, "created", "truth")))(t), 0,
			"the payload ran although nobody started it")
	})
	t.Run("the task has exited", func(t *testing.T) {
		s := h.run(t, "exited", "exit 7", nil)
		s.begin(t, h, "exited")
		s.wait(t, "exited", "")
		kill(t, s)
		must.Equal(t, must.Get(h.cleanup(t, "exited"))(t).ExitStatus, 7, "delete command")
	})
	t.Run("nothing was created", func(t *testing.T) {
		kill(t, h.run(t, "nothing", "exit 7", nil))
		if resp, err := h.cleanup(t, "nothing"); err != nil || resp.ExitStatus != 137 || resp.Pid != 0 {
			t.Errorf("delete command: %v, %v", resp, err)
		}
	})
	t.Run("it is wrong and fails", func(t *testing.T) {
		h.bundle(t, "wrong", "exit 7", says("cleanup-exit=99"))
		must.Equal(t, must.Get(h.cleanup(t, "wrong"))(t).ExitStatus, 99, "delete command")
		h.bundle(t, "fails", "exit 7", says("cleanup=fail"))
		must.FailWith(t, must.ErrorOf(h.cleanup(t, "fails")), "as asked", "delete command")
	})
}

// Faults at methods come from package failpoints, here by annotation.
func TestFailpoints(t *testing.T) {
	h := newHost(t)
	t.Run("error", func(t *testing.T) {
		s := h.run(
			t,
			"error",
			"exit 0",
			map[string]string{"shimquake.failpoint/rpc:shim:Task.Start:entry": "1*error(not now)"},
		)
		s.create(t, h, "error")
		if _, err := s.Start(t.Context(), &task.StartRequest{ID: "error"}); err == nil ||
			!strings.Contains(err.Error(), "not now") {
			t.Errorf("Start = %v, want the error", err)
		}
		must.Equal(t, must.ErrorOf(s.Start(t.Context(), &task.StartRequest{ID: "error"})), nil, "second Start")
		must.Equal(t, s.wait(t, "error", ""), 0, "Wait says")
	})
	t.Run("crash at exit", func(t *testing.T) {
		s := h.run(t, "crash", "wait", map[string]string{"shimquake.failpoint/rpc:shim:Task.Create:exit": "1*crash"})
		if _, err := s.Create(t.Context(), &task.CreateTaskRequest{ID: "crash", Bundle: filepath.Join(h.dir,
			"crash")}); err == nil {
			t.Error("Create was answered")
		}
		s.gone(t)
		must.Equal(t, must.ErrorOf(record.ReadInit(filepath.Join(h.dir, "crash"))), nil, "the handler did not run")
	})
	t.Run("hang", func(t *testing.T) {
		s := h.run(t, "hangs", "exit 0", map[string]string{"shimquake.failpoint/rpc:shim:Task.State:entry": "hang"})
		asked := time.Now()
		ctx := must.Within(t, 200*time.Millisecond)
		_, err := s.State(ctx, &task.StateRequest{ID: "hangs"})
		if took := time.Since(asked); err == nil || took < 200*time.Millisecond {
			t.Errorf("State = %v after %s, want no answer before the deadline", err, took)
		}
	})
}

func TestHelperCommands(t *testing.T) {
	h := newHost(t)
	for _, tc := range []struct {
		args []string
		want string
		ok   bool
	}{
		{[]string{"-v"}, Runtime, true},
		{[]string{"-info"}, Runtime, true},
		{[]string{"start"}, "-namespace and -id are needed", false},
		{[]string{"-namespace", "n", "-id", "i", "dance"}, `unknown command "dance"`, false},
	} {
		out, err := exec.CommandContext(t.Context(), h.binary, tc.args...).CombinedOutput()
		if (err == nil) != tc.ok || !bytes.Contains(out, []byte(tc.want)) {
			t.Errorf("%q: %v, %q; want %q", tc.args, err, out, tc.want)
		}
	}
}
