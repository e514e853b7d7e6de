package fakeshim

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	api "github.com/containerd/containerd/api/events"
	client "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/events"
	"github.com/containerd/typeurl/v2"
	"github.com/prometheus/procfs"

	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/must"
)

// TestContainerd runs tasks on the fake shim under real containerds, which detect its
// protocol by themselves.
func TestContainerd(t *testing.T) {
	must.SkipIf(t, world.Check())
	all := containerd.ReleasesToTest()
	if testing.Short() {
		all = all[:1]
	}
	for _, release := range all {
		t.Run(release, func(t *testing.T) {
			ctx := must.Within(t, 10*time.Minute) // a first build takes minutes
			n := newNode(ctx, t, release)
			t.Run("lifecycle", n.lifecycle)
			t.Run("restart", n.restart)
			t.Run("dead shim", n.deadShim)
			t.Run("no exit event", n.noExitEvent)
			t.Run("wrong status", n.wrongStatus)
			t.Run("answers", n.answers) // runs last: it leaves shims behind
		})
	}
}

func (n *node) lifecycle(t *testing.T) {
	ctx, cancel := context.WithCancel(n.ctx)
	defer cancel()
	published, failed := n.client(t).EventService().Subscribe(ctx, `namespace==fakeshim,topic~="/tasks/.*"`)
	began := time.Now()
	j := must.Get(n.create(t, "c1", "exit 7", ""))(t)
	must.Succeed(t, j.Start(n.ctx))
	n.ends(t, j, 7)
	t.Logf("container, task, exit 7 and delete took %v", time.Since(began))
	if truth := truthOf(t, j.truth); !truth.Exited || truth.Status != 7 {
		t.Errorf("truth %+v", truth)
	}
	n.noShim(t)
	for _, want := range []string{"/tasks/create", "/tasks/start", "/tasks/exit", "/tasks/delete"} {
		topic, body := next(t, "c1", published, failed)
		if topic != want {
			t.Fatalf("event %s, want %s", topic, want)
		}
		switch body := body.(type) {
		case *api.TaskExit:
			if body.ExitStatus != 7 || body.Pid != j.Pid() || body.ID != "c1" {
				t.Errorf("exit event %v", body)
			}
		case *api.TaskDelete:
			must.Equal(t, body.ExitStatus, 7, "delete event")
			must.Equal(t, body.Pid, j.Pid(), "delete event")
		}
	}
}

// next returns the next event of a container.
func next(t *testing.T, id string, published <-chan *events.Envelope, failed <-chan error) (topic string, body any) {
	t.Helper()
	deadline := time.After(soon)
	for {
		select {
		case e := <-published:
			body := must.Get(typeurl.UnmarshalAny(e.Event))(t)
			if of, ok := body.(interface{ GetContainerID() string }); ok && of.GetContainerID() == id {
				return e.Topic, body
			}
		case err := <-failed:
			t.Fatal(err)
		case <-deadline:
			t.Fatalf("no event of %s", id)
		}
	}
}

// A restarted containerd finds the shim and its task again.
func (n *node) restart(t *testing.T) {
	j := must.Get(n.create(t, "c2", "wait -exit 5", ""))(t)
	must.Succeed(t, j.Start(n.ctx))
	must.Succeed(t, n.Kill(n.ctx))
	n.Release()
	container := must.Get(n.client(t).LoadContainer(n.ctx, "c2"))(t)
	task := must.Get(container.Task(n.ctx, nil))(t)
	j.Task, j.container = task, container
	must.Succeed(t, j.Kill(n.ctx, syscall.SIGUSR1))
	n.ends(t, j, 5)
	n.noShim(t)
}

// The delete command cleans up after a dead shim: the task ends with 137.
func (n *node) deadShim(t *testing.T) {
	j := must.Get(n.create(t, "c3", "wait", ""))(t)
	must.Succeed(t, j.Start(n.ctx))
	exit := must.Get(j.Wait(n.ctx))(t)
	n.killShim(t, j)
	select {
	case status := <-exit:
		if status.ExitCode() != 137 && status.ExitCode() != client.UnknownExitStatus { // Wait's connection broke: 255
			t.Errorf("Wait says %d", status.ExitCode())
		}
	case <-time.After(soon):
		t.Fatal("Wait does not return")
	}
	n.noShim(t)
	if _, err := j.Delete(n.ctx); err != nil {
		t.Logf("Delete after the shim's death: %v", err) // releases differ
	}
}

// killShim kills the shim of a task: the parent of the task's process.
func (n *node) killShim(t *testing.T, j *job) {
	t.Helper()
	proc := must.Get(procfs.NewFS(n.world.Proc()))(t)
	stat := func(pid int) procfs.ProcStat {
		p := must.Get(proc.Proc(pid))(t)
		return must.Get(p.Stat())(t)
	}
	shim := stat(stat(int(j.Pid())).PPID)
	must.Succeed(t, n.world.Signal(n.ctx, signal.Identity{PID: shim.PID, Start: shim.Starttime}, syscall.SIGKILL))
}

// If a shim publishes no exit, its client still gets it from Wait.
func (n *node) noExitEvent(t *testing.T) {
	ctx, cancel := context.WithCancel(n.ctx)
	defer cancel()
	published, failed := n.client(t).EventService().Subscribe(ctx, `namespace==fakeshim,topic~="/tasks/.*"`)
	j := must.Get(n.create(t, "c4", "exit 6", "events=no-exit"))(t)
	must.Succeed(t, j.Start(n.ctx))
	n.ends(t, j, 6)
	for _, want := range []string{"/tasks/create", "/tasks/start", "/tasks/delete"} {
		if topic, _ := next(t, "c4", published, failed); topic != want {
			t.Errorf("event %s, want %s", topic, want)
		}
	}
	n.noShim(t)
}

// Each release refuses a meaningless response of a shim with its own error. All releases
// understand a bare address.
func (n *node) answers(t *testing.T) {
	for _, words := range []string{"bootstrap=nowhere", "bootstrap=garbage", "bootstrap=empty", "bootstrap=future",
		"start=refuse", "start=fail"} {
		if _, err := n.create(t, strings.ReplaceAll(words, "=", "-"), "exit 0", words); err == nil {
			t.Errorf("containerd accepted a shim with %s", words)
		} else {
			t.Logf("%s: %v", words, err)
		}
	}
	_, err := n.create(t, "unknown", "exit 0", "colour=red")
	must.FailWith(t, err, "colour=red", "create")
	j := must.Get(n.create(t, "old", "exit 3", "bootstrap=old"))(t)
	must.Succeed(t, j.Start(n.ctx))
	n.ends(t, j, 3)
	// A shim with such a response keeps running: no release can end it without its
	// address.
	left := n.processes(t)
	for _, id := range []string{"bootstrap-nowhere", "bootstrap-garbage", "bootstrap-empty", "start-fail"} {
		if !slices.ContainsFunc(left, func(line string) bool { return strings.Contains(line, "-id "+id+" ") }) {
			t.Errorf("the shim of %s is not there: %q", id, left)
		}
	}
	t.Logf("%d processes left in the world", len(left))
}

func (n *node) wrongStatus(t *testing.T) {
	j := must.Get(n.create(t, "c7", "exit 7", "exit=99"))(t)
	must.Succeed(t, j.Start(n.ctx))
	n.ends(t, j, 99)
	must.Equal(t, truthOf(t, j.truth).Status, 7, "truth")
	n.noShim(t)
}
