package audit_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	client "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/oci"

	"github.com/shimquake/shimquake/audit"
	"github.com/shimquake/shimquake/child"
	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/shims/fakeshim"
)

// node is a world in the role of a live node, with a real containerd and with shims
// that need no container. suites/control plants the remains of real shims and of runc.
type node struct {
	*testing.T
	*daemon.Daemon
	world *world.World
	ctx   context.Context // with a containerd namespace
}

// secret is in the environment of each container.
const secret = "PASSWORD=open-sesame"

// settle is the time between the two scans of an audit here. Nothing changes in between
// unless a test changes it.
const settle = 50 * time.Millisecond

func newNode(t *testing.T) *node {
	t.Helper()
	if err := world.Check(); err != nil {
		t.Skip(err)
	}
	// A first build takes minutes.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Minute+*churnFor)
	t.Cleanup(cancel)
	cache, err := containerd.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	subject, err := containerd.Resolve(ctx, "", containerd.Options{Cache: cache, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	shim, err := fakeshim.Build(ctx, cache)
	if err != nil {
		t.Fatal(err)
	}
	w, err := world.New(ctx, world.Config{Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	d, err := daemon.Start(ctx, daemon.Params{Subject: subject, World: w, ExtraPath: filepath.Dir(shim)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return &node{T: t, Daemon: d, world: w, ctx: namespaces.WithNamespace(ctx, "audited")}
}

// run starts a container whose shim has these words of behaviour.
func (n *node) run(id, words, behaviour string) client.Task {
	n.Helper()
	task, err := n.start(id, words, behaviour)
	n.must(err)
	return task
}

func (n *node) start(id, words, behaviour string) (client.Task, error) {
	c, _, err := n.Connect(n.ctx)
	if err != nil {
		return nil, err
	}
	container, err := c.NewContainer(n.ctx, id, client.WithRuntime(fakeshim.Runtime, nil), client.WithNewSpec(
		oci.WithProcessArgs(append([]string{payload.Program}, strings.Fields(words)...)...),
		oci.WithAnnotations(map[string]string{"shimquake.fakeshim": behaviour}), oci.WithEnv([]string{secret}),
	))
	if err != nil {
		return nil, err
	}
	task, err := container.NewTask(n.ctx, cio.NullIO)
	if err != nil {
		return nil, err
	}
	return task, task.Start(n.ctx)
}

// end kills a task and deletes it with its container.
func (n *node) end(task client.Task) error {
	exit, err := task.Wait(n.ctx)
	if err != nil {
		return err
	}
	if err := task.Kill(n.ctx, 9); err != nil {
		return err
	}
	<-exit
	if _, err := task.Delete(n.ctx); err != nil {
		return err
	}
	c, _, err := n.Connect(n.ctx)
	if err != nil {
		return err
	}
	container, err := c.LoadContainer(n.ctx, task.ID())
	if err != nil {
		return err
	}
	return container.Delete(n.ctx)
}

func (n *node) must(err error) {
	n.Helper()
	if err != nil {
		n.Fatal(err)
	}
}

func (n *node) audit() *audit.Report {
	n.Helper()
	return n.auditWith(audit.Options{})
}

func (n *node) auditWith(o audit.Options) *audit.Report {
	n.Helper()
	o.PID = n.world.InitPID()
	if o.Settle == 0 {
		o.Settle = settle
	}
	r, err := audit.Run(n.ctx, o)
	n.must(err)
	n.T.Log(r)
	return r
}

// shim is the shim of an id, in the world.
func (n *node) shim(id string) signal.Identity {
	n.Helper()
	all, err := inventory.Processes(inventory.Scene{Root: n.world.HostPath("/"), Proc: n.world.Proc()})
	n.must(err)
	for _, p := range all {
		if p.Serves() && p.Shim.ID == id {
			return signal.Identity{PID: p.PID, Start: p.Start}
		}
	}
	n.Fatalf("no shim of %s", id)
	return signal.Identity{}
}

func TestAHealthyNode(t *testing.T) {
	n := newNode(t)
	n.run("c1", "wait", "")
	r := n.audit()
	if len(r.Suspects) != 0 || len(r.Partial) != 0 || r.Shims != 1 || len(r.Daemons) != 1 || r.Scans != 1 {
		t.Errorf("%v", r)
	}
	if d := r.Daemons[0]; !d.Answered || d.Version != containerd.DefaultRelease || d.Address != n.Address() {
		t.Errorf("%+v", d)
	}
}

// Most bugs of the catalogue leave a shim that responds to Shutdown and keeps running.
func TestALeakedShim(t *testing.T) {
	n := newNode(t)
	n.run("c1", "wait", "")
	n.must(n.end(n.run("lost", "wait", "shutdown=ignore")))
	r := n.audit()
	if len(r.Suspects) != 1 || len(r.Partial) != 0 || r.Shims != 2 {
		t.Fatalf("%v", r)
	}
	s := r.Suspects[0]
	want := "task=none bundle=gone socket=listening children=none"
	if s.Kind != finding.ClassShim || s.ID != "lost" || s.Sure != audit.Certain || s.Facts.String() != want {
		t.Errorf("%+v", s)
	}
	// containerd is down. The leaked shim is still reported, and the healthy one is not.
	n.must(n.Kill(n.ctx))
	defer n.Release()
	r = n.audit()
	if len(r.Suspects) != 1 || r.Suspects[0].ID != "lost" || len(r.Partial) == 0 {
		t.Errorf("containerd is down: %v", r)
	}
	if got := r.Suspects[0].Facts.String(); !strings.HasPrefix(got, "task=not-asked bundle=gone") {
		t.Errorf("containerd is down: %s", got)
	}
	if s := r.Suspects[0]; s.Sure != audit.Likely || !strings.HasPrefix(s.Do, "do not kill it") {
		t.Errorf("containerd is down: %s", s)
	}
}

// A shim without a bundle may have a healthy container, which serves. Only containerd can
// say whether it knows the shim.
func TestALivingContainerMayServe(t *testing.T) {
	n := newNode(t)
	n.run("c1", "wait", "")
	n.must(os.RemoveAll(n.world.HostPath("/run/containerd/io.containerd.runtime.v2.task/audited/c1")))
	for _, restart := range []bool{false, true} { // hung, and then started again
		if !restart {
			n.must(n.Freeze(n.ctx))
		} else {
			n.must(n.Thaw(n.ctx))
			n.must(n.Kill(n.ctx))
			n.Release()
			_, _, err := n.Connect(n.ctx)
			n.must(err)
		}
		r := n.auditWith(audit.Options{Timeout: 300 * time.Millisecond})
		if len(r.Suspects) != 1 {
			t.Fatal(r)
		}
		s := r.Suspects[0]
		if (s.Sure == audit.Certain) != restart || !strings.HasPrefix(s.Do, "do not kill it") ||
			len(s.Living) != 1 || !strings.Contains(s.String(), "may serve: process ") ||
			s.Living[0].Command != "fakeshim-task wait" {
			t.Errorf("restarted %t: %s", restart, s)
		}
		if !restart && !strings.Contains(r.String(), "SIGSTOP has frozen it") {
			t.Error(r)
		}
	}
}

func TestAHungContainerd(t *testing.T) {
	n := newNode(t)
	n.run("c1", "wait", "")
	n.must(n.Freeze(n.ctx))
	defer func() { n.must(n.Thaw(n.ctx)) }()
	begun := time.Now()
	r := n.auditWith(audit.Options{Timeout: 300 * time.Millisecond})
	if len(r.Suspects) != 0 || len(r.Partial) != 1 || r.Daemons[0].Answered {
		t.Errorf("%v", r)
	}
	if r.Daemons[0].Version != containerd.DefaultRelease {
		t.Errorf("its binary says %q", r.Daemons[0].Version)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// containerd's list leaves its task out. An audit that trusts the list would report a
// healthy shim.
func TestAStoppedShim(t *testing.T) {
	n := newNode(t)
	n.run("c1", "wait", "")
	n.run("c2", "wait", "")
	n.must(n.world.Signal(n.ctx, n.shim("c1"), 19))
	defer func() { n.must(n.world.Signal(n.ctx, n.shim("c1"), 18)) }()
	r := n.audit()
	if len(r.Suspects) != 1 || len(r.Partial) != 0 {
		t.Fatalf("%v", r)
	}
	s := r.Suspects[0]
	if s.Kind != finding.ClassTask || s.ID != "c1" || s.Sure != audit.Certain || !strings.Contains(s.Do, "CONT") {
		t.Errorf("%+v", s)
	}
}

// A containerd with many stopped shims, so that its list takes longer than the timeout.
func TestManyStoppedShims(t *testing.T) {
	n := newNode(t)
	ids := []string{"c1", "c2", "c3", "c4"}
	for _, id := range ids {
		n.run(id, "wait", "")
	}
	for _, id := range ids {
		n.must(n.world.Signal(n.ctx, n.shim(id), 19))
	}
	defer func() {
		for _, id := range ids {
			n.must(n.world.Signal(n.ctx, n.shim(id), 18))
		}
	}()
	r := n.auditWith(audit.Options{Timeout: 3 * time.Second}) // 4 x 2 s is more than that
	if len(r.Suspects) != len(ids) {
		t.Errorf("%v", r)
	}
	for _, s := range r.Suspects {
		if s.Kind != finding.ClassTask {
			t.Errorf("%+v", s)
		}
	}
}

// A containerd that was killed leaves shims with bundles, which the next one finds again.
func TestContainerdIsDown(t *testing.T) {
	n := newNode(t)
	n.run("c1", "wait", "")
	n.must(n.Kill(n.ctx))
	r := n.audit()
	if len(r.Suspects) != 0 || len(r.Partial) == 0 || len(r.Daemons) != 0 {
		t.Errorf("%v", r)
	}
	n.Release()
	_, _, err := n.Connect(n.ctx)
	n.must(err)
	if r := n.audit(); len(r.Suspects) != 0 || len(r.Partial) != 0 {
		t.Errorf("after its restart: %v", r)
	}
}

// An upgrade that was not followed by a restart is reported.
func TestAReplacedBinary(t *testing.T) {
	n := newNode(t)
	n.must(os.MkdirAll(n.world.HostPath("/tmp/bin"), 0o755))
	text, err := os.ReadFile("/proc/self/exe")
	n.must(err)
	n.must(child.WriteProgram(n.world.HostPath("/tmp/bin/containerd"), text))
	p, err := n.world.Start(n.ctx, world.Params{
		Argv: []string{"/tmp/bin/containerd", "--address", "/run/other.sock"}, Env: []string{roleVar + "=sleep"},
		Output: "/dev/null",
	})
	n.must(err)
	n.must(os.Remove(n.world.HostPath("/tmp/bin/containerd")))
	r := n.audit()
	n.must(p.Kill(n.ctx))
	replaced := 0
	for _, d := range r.Daemons {
		if d.Replaced {
			replaced++
		}
	}
	// It does not listen, so it cannot be asked, and objects that it may know are not
	// certain suspects.
	if replaced != 1 || len(r.Daemons) != 2 || len(r.Partial) != 1 || len(r.Suspects) != 0 {
		t.Errorf("%v", r)
	}
}

// A containerd that is starting does not listen yet. Its shims serve meanwhile, also a
// shim without a bundle.
func TestARestartUnderWay(t *testing.T) {
	n := newNode(t)
	n.run("c1", "wait", "")
	n.run("c2", "wait", "")
	n.must(os.RemoveAll(n.world.HostPath("/run/containerd/io.containerd.runtime.v2.task/audited/c1")))
	n.must(n.Kill(n.ctx))
	defer n.Release()
	n.must(os.MkdirAll(n.world.HostPath("/tmp/bin"), 0o755))
	text, err := os.ReadFile("/proc/self/exe")
	n.must(err)
	n.must(child.WriteProgram(n.world.HostPath("/tmp/bin/containerd"), text))
	p, err := n.world.Start(n.ctx, world.Params{
		Argv: []string{"/tmp/bin/containerd", "--address", n.Address()}, Env: []string{roleVar + "=sleep"},
		Output: "/dev/null",
	})
	n.must(err)
	r := n.audit()
	n.must(p.Kill(n.ctx))
	if len(r.Suspects) != 1 || r.Suspects[0].ID != "c1" || r.Suspects[0].Sure != audit.Likely ||
		!strings.HasPrefix(r.Suspects[0].Do, "do not kill it") || !strings.Contains(r.String(), "containerd is starting") {
		t.Error(r)
	}
}

// roleVar makes the test binary play another part.
const roleVar = "SHIMQUAKE_AUDIT_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		play(role)
	}
	os.Exit(m.Run())
}
