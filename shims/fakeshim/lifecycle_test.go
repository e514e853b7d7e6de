package fakeshim

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	task "github.com/containerd/containerd/api/runtime/task/v3"
	types "github.com/containerd/containerd/api/types/task"
	"github.com/containerd/errdefs"
	"github.com/containerd/ttrpc"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/shims/fakeshim/service"
)

func TestLifecycle(t *testing.T) {
	h := newHost(t)
	s := h.run(t, "c1", "exit 7", nil)
	pid := s.create(t, h, "c1")
	state := func(want types.Status) *task.StateResponse {
		t.Helper()
		got, err := s.State(t.Context(), &task.StateRequest{ID: "c1"})
		if err != nil || got.Status != want || got.Pid != pid {
			t.Fatalf("state %v, %v; want %v of pid %d", got, err, want, pid)
		}
		return got
	}
	state(types.Status_CREATED)
	must.Get(s.Start(t.Context(), &task.StartRequest{ID: "c1"}))(t)
	must.Equal(t, s.wait(t, "c1", ""), 7, "Wait says")
	if got := state(types.Status_STOPPED); got.ExitStatus != 7 {
		t.Errorf("State says %d, want 7", got.ExitStatus)
	}
	truth, noted := h.exited(t, "c1")
	if !truth.Exited || truth.Status != 7 || noted.Status != 7 || noted.PID != int(pid) {
		t.Errorf("truth %+v, noted %+v", truth, noted)
	}
	deleted, err := s.Delete(t.Context(), &task.DeleteRequest{ID: "c1"})
	if err != nil || deleted.ExitStatus != 7 || deleted.Pid != pid {
		t.Errorf("Delete = %v, %v", deleted, err)
	}
	_, err = s.State(t.Context(), &task.StateRequest{ID: "c1"})
	is(t, "State after Delete", err, errdefs.ErrNotFound)
	// The reply and the end of the connection race, as with the real shim. containerd
	// accepts both as success (shim.Shutdown of core/runtime/v2).
	if _, err := s.Shutdown(t.Context(), &task.ShutdownRequest{ID: "c1"}); err != nil &&
		!errors.Is(err, ttrpc.ErrClosed) {
		t.Errorf("Shutdown failed: %v", err)
	}
	s.gone(t)
	must.Is(t, must.ErrorOf(os.Stat(s.socket)), os.ErrNotExist, "the socket is still there")
}

func TestSignals(t *testing.T) {
	h := newHost(t)
	s := h.run(t, "c1", "wait", nil)
	for _, tc := range []struct {
		id, line string
		signal   syscall.Signal
		want     uint32
	}{
		{"killed", "wait", syscall.SIGKILL, 137},
		{"terminated", "wait", syscall.SIGTERM, 143},
		{"asked", "wait -exit 9", syscall.SIGUSR1, 9},
	} {
		t.Run(tc.id, func(t *testing.T) {
			h.bundle(t, tc.id, tc.line, nil)
			s.begin(t, h, tc.id)
			h.ready(t, tc.id)
			must.Get(s.Kill(t.Context(), &task.KillRequest{ID: tc.id, Signal: uint32(tc.signal)}))(t)
			must.Equal(t, s.wait(t, tc.id, ""), tc.want, "Wait says")
			if truth, _ := h.exited(t, tc.id); truth.Exited != (tc.want != 137) ||
				truth.Exited && truth.Status != int(tc.want) {
				t.Errorf("truth %+v", truth)
			}
		})
	}
}

// Every release finds the service under its own name.
func TestBothServices(t *testing.T) {
	h := newHost(t)
	s := h.run(t, "c1", "exit 0", nil)
	for _, name := range service.Names {
		var resp task.ConnectResponse
		err := s.client.Call(t.Context(), name, "Connect", &task.ConnectRequest{ID: "c1"}, &resp)
		if err != nil || int(resp.ShimPid) != s.id.PID {
			t.Errorf("%s: %v, %v", name, &resp, err)
		}
	}
}

func TestExec(t *testing.T) {
	h := newHost(t)
	s := h.run(t, "c1", "wait", nil)
	s.begin(t, h, "c1")
	exec := func(id, args string) {
		t.Helper()
		spec := &anypb.Any{
			TypeUrl: "types.containerd.io/opencontainers/runtime-spec/1/Process",
			Value:   []byte(`{"args": ` + args + `}`),
		}
		must.Get(s.Exec(t.Context(), &task.ExecProcessRequest{ID: "c1", ExecID: id, Spec: spec}))(t)
		must.Get(s.Start(t.Context(), &task.StartRequest{ID: "c1", ExecID: id}))(t)
	}
	exec("e1", `["/bin/payload", "exit", "5"]`)
	must.Equal(t, s.wait(t, "c1", "e1"), 5, "Wait for the exec says")
	must.Equal(t, must.Get(s.Delete(t.Context(), &task.DeleteRequest{ID: "c1", ExecID: "e1"}))(t).ExitStatus, 5,
		"Delete of the exec")
	exec("e2", `["/bin/payload", "wait"]`)
	pids := must.Get(s.Pids(t.Context(), &task.PidsRequest{ID: "c1"}))(t)
	must.Len(t, pids.Processes, 2, "Pids")
	// The end of the container ends its execs.
	must.Get(s.Kill(t.Context(), &task.KillRequest{ID: "c1", Signal: uint32(syscall.SIGKILL)}))(t)
	if init, exec := s.wait(t, "c1", ""), s.wait(t, "c1", "e2"); init != 137 || exec != 137 {
		t.Errorf("init %d, exec %d; want 137", init, exec)
	}
}

func TestErrors(t *testing.T) {
	h := newHost(t)
	s := h.run(t, "c1", "wait", nil)
	s.begin(t, h, "c1")
	h.bundle(t, "stranger", "sleep 5", nil)
	ctx := t.Context()
	for _, call := range []struct {
		what      string
		err, want error
	}{
		{"create twice", must.ErrorOf(s.Create(ctx,
			&task.CreateTaskRequest{ID: "c1", Bundle: filepath.Join(h.dir, "c1")})), errdefs.ErrAlreadyExists},
		{"create from other words", must.ErrorOf(s.Create(ctx,
			&task.CreateTaskRequest{ID: "stranger", Bundle: filepath.Join(h.dir, "stranger")})), errdefs.ErrInvalidArgument},
		{"start twice", must.ErrorOf(s.Start(ctx, &task.StartRequest{ID: "c1"})), errdefs.ErrFailedPrecondition},
		{"delete while it runs", must.ErrorOf(s.Delete(ctx, &task.DeleteRequest{ID: "c1"})),
			errdefs.ErrFailedPrecondition},
		{"start an unknown container", must.ErrorOf(s.Start(ctx, &task.StartRequest{ID: "c2"})), errdefs.ErrNotFound},
		{"wait for an unknown exec", must.ErrorOf(s.Wait(ctx, &task.WaitRequest{ID: "c1", ExecID: "e"})),
			errdefs.ErrNotFound},
		{"resume what is not paused", must.ErrorOf(s.Resume(ctx, &task.ResumeRequest{ID: "c1"})),
			errdefs.ErrFailedPrecondition},
		{"checkpoint", must.ErrorOf(s.Checkpoint(ctx, &task.CheckpointTaskRequest{ID: "c1"})), errdefs.ErrNotImplemented},
		{"stats of an unknown", must.ErrorOf(s.Stats(ctx, &task.StatsRequest{ID: "c2"})), errdefs.ErrNotFound},
		{"update of an unknown", must.ErrorOf(s.Update(ctx, &task.UpdateTaskRequest{ID: "c2"})), errdefs.ErrNotFound},
		{"close input of an unknown", must.ErrorOf(s.CloseIO(ctx, &task.CloseIORequest{ID: "c2"})), errdefs.ErrNotFound},
		{"resize terminal of an exec", must.ErrorOf(s.ResizePty(ctx, &task.ResizePtyRequest{ID: "c1", ExecID: "e"})),
			errdefs.ErrNotFound},
		{"signal to an unknown", must.ErrorOf(s.Kill(ctx, &task.KillRequest{ID: "c2", Signal: 9})), errdefs.ErrNotFound},
		{"delete an unknown container", must.ErrorOf(s.Delete(ctx, &task.DeleteRequest{ID: "c2"})), errdefs.ErrNotFound},
	} {
		is(t, call.what, call.err, call.want)
	}
	// A wait ends with its context, and a signal to an ended process is NotFound.
	short, cancel := context.WithCancel(ctx)
	cancel()
	must.Fail(t, must.ErrorOf(s.Wait(short, &task.WaitRequest{ID: "c1"})), "a cancelled Wait succeeded")
	must.Get(s.Kill(ctx, &task.KillRequest{ID: "c1", Signal: 9}))(t)
	s.wait(t, "c1", "")
	_, err := s.Kill(ctx, &task.KillRequest{ID: "c1", Signal: 9})
	is(t, "kill after the exit", err, errdefs.ErrNotFound)
}

func TestPauseAndResume(t *testing.T) {
	h := newHost(t)
	s := h.run(t, "c1", "exit 4 -trigger /truth/go", nil)
	s.begin(t, h, "c1")
	h.ready(t, "c1")
	must.Get(s.Pause(t.Context(), &task.PauseRequest{ID: "c1"}))(t)
	must.Equal(t, must.Get(s.State(t.Context(), &task.StateRequest{ID: "c1"}))(t).Status, types.Status_PAUSED, "State")
	must.Succeed(t, os.WriteFile(filepath.Join(h.dir, "c1", "go"), nil, 0o600))
	must.Get(s.Resume(t.Context(), &task.ResumeRequest{ID: "c1"}))(t)
	must.Equal(t, s.wait(t, "c1", ""), 4, "Wait says")
	must.Get(s.Stats(t.Context(), &task.StatsRequest{ID: "c1"}))(t)
}

// Containers of a pod share the shim, which survives a Shutdown while it still has one of
// them.
func TestGroup(t *testing.T) {
	h := newHost(t)
	pod := map[string]string{"io.kubernetes.cri.sandbox-id": "pod"}
	s := h.run(t, "pod", "pause", pod)
	s.begin(t, h, "pod")
	second := h.run(t, "c2", "exit 3", pod)
	if second.socket != s.socket || second.id != s.id {
		t.Fatalf("the second container has a shim of its own: %s, %s", second.socket, s.socket)
	}
	s.begin(t, h, "c2")
	must.Equal(t, s.wait(t, "c2", ""), 3, "Wait says")
	for _, id := range []string{"c2", "pod"} {
		if id == "pod" {
			must.Get(s.Kill(t.Context(), &task.KillRequest{ID: id, Signal: uint32(syscall.SIGTERM)}))(t)
			s.wait(t, id, "")
		}
		must.Get(s.Delete(t.Context(), &task.DeleteRequest{ID: id}))(t)
		if _, err := s.Shutdown(t.Context(), &task.ShutdownRequest{ID: id}); err != nil && !errors.Is(err, ttrpc.ErrClosed) {
			t.Fatal(err)
		}
		if id == "c2" {
			must.Succeed(t, must.ErrorOf(s.Connect(t.Context(), &task.ConnectRequest{ID: "pod"})),
				"the shim is gone although the pod lives")
		}
	}
	s.gone(t)
}
