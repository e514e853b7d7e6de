package settle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/oci"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	fixture "github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/residue"
	"github.com/shimquake/shimquake/oracle/wording"
)

// withContainerd starts a containerd in a world and gives the world a client of it. The
// oracle must not depend on the packages in fixtures/. Only this test uses their
// containerd, so that it runs wherever cases run.
func withContainerd(t *testing.T) (*miniWorld, context.Context) {
	t.Helper()
	must.SkipIf(t, errors.Join(world.Check(), world.Needs("devices")))
	subject, err := fixture.Resolve(t.Context(), "", fixture.Options{Log: t.Output()})
	must.Succeed(t, err)
	bin := subject.Bin
	groups := testCgroups(t) // before the world, to be removed after it
	w := newWorld(t)
	w.scene.CgroupDirs = groups
	dir := t.TempDir()
	config := filepath.Join(dir, "config.toml")
	text := fmt.Sprintf("version = 2\nroot = '/run/root'\nstate = '/run/containerd'\n"+
		"disabled_plugins = ['io.containerd.grpc.v1.cri', 'io.containerd.cri.v1.runtime', 'io.containerd.cri.v1.images']\n"+
		"[grpc]\naddress = '%s/c.sock'\n[ttrpc]\naddress = '%s/c.sock.ttrpc'\n", dir, dir)
	must.Succeed(t, os.WriteFile(config, []byte(text), 0o600))
	log := filepath.Join(dir, "containerd.log")
	daemon := w.start(order{
		Argv: []string{filepath.Join(bin, "containerd"), "-c", config}, Stdout: log,
		Env: []string{"PATH=" + bin + ":" + os.Getenv("PATH")},
	})
	w.scene.Own = func(pid int) bool { return pid == 1 || pid == daemon }
	ctx := namespaces.WithNamespace(t.Context(), "default")
	w.scene.Client, err = containerd.New(filepath.Join(dir, "c.sock"))
	w.must(err)
	ready, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if ok, err := w.scene.Client.IsServing(ready); !ok { // waits for the connection
		out, _ := os.ReadFile(log)
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() { _ = w.scene.Client.Close() })
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := os.ReadFile(log)
			t.Logf("%s", out)
		}
	})
	// containerd's metadata has a namespace once it has an object in it.
	must.Succeed(t, w.scene.Client.NamespaceService().Create(ctx, "default", nil))
	// The first snapshot creates the snapshotter's database.
	shots := w.scene.Client.SnapshotService("overlayfs")
	_, err = shots.Prepare(ctx, "first", "", keptSnapshot)
	w.must(errors.Join(err, shots.Remove(ctx, "first")))
	return w, ctx
}

// testCgroups makes a group in every hierarchy of the host, and removes it with its
// children after the test.
func testCgroups(t *testing.T) []string {
	t.Helper()
	var dirs []string
	tops := must.Get(filepath.Glob("/sys/fs/cgroup/*/cgroup.procs"))(t)
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.procs"); err == nil {
		tops = []string{"/sys/fs/cgroup/cgroup.procs"}
	}
	for _, top := range tops {
		dir := filepath.Join(filepath.Dir(top), fmt.Sprintf("oracle-test-%d", os.Getpid()))
		must.Succeed(t, os.Mkdir(dir, 0o755))
		t.Cleanup(func() { removeGroups(t, dir) })
		dirs = append(dirs, dir)
	}
	return dirs
}

// removeGroups removes a group and its children. Processes of a world that has just ended
// may still be leaving it.
func removeGroups(t *testing.T, dir string) {
	late := time.Now().Add(5 * time.Second)
	for {
		inv, err := inventory.Take(context.Background(), inventory.Scene{CgroupDirs: []string{dir}}, finding.ClassCgroup)
		below := inv.Cgroups
		if err != nil {
			t.Error(err)
			return
		}
		for _, c := range slices.Backward(below) {
			_ = unix.Rmdir(c.Path)
		}
		err = unix.Rmdir(dir)
		if err == nil {
			return
		}
		if time.Now().After(late) {
			t.Errorf("remove %s: %v", dir, err)
			return
		}
		_ = sleep(context.Background(), firstPause)
	}
}

// keptSnapshot keeps an unused snapshot from containerd's garbage collection.
var keptSnapshot = snapshots.WithLabels(map[string]string{"containerd.io/gc.root": "test"})

// launch creates and starts a container that runs a shell script with the host's
// programs, on a snapshot.
func (w *miniWorld) launch(ctx context.Context, id, script string) containerd.Task {
	w.t.Helper()
	bind := func(dir string) specs.Mount {
		return specs.Mount{Destination: dir, Source: dir, Type: "bind", Options: []string{"rbind", "ro"}}
	}
	_, err := w.scene.Client.SnapshotService("overlayfs").Prepare(ctx, id, "", keptSnapshot)
	w.must(err)
	c, err := w.scene.Client.NewContainer(ctx, id, containerd.WithSnapshotter("overlayfs"), containerd.WithSnapshot(id),
		containerd.WithRuntime("io.containerd.runc.v2", nil),
		containerd.WithNewSpec(oci.WithProcessArgs("/bin/sh", "-c", script), oci.WithHostNamespace(specs.NetworkNamespace),
			oci.WithMounts([]specs.Mount{bind("/usr"), bind("/bin"), bind("/lib"), bind("/lib64")}),
			oci.WithCgroup("/"+filepath.Base(w.scene.CgroupDirs[0])+"/default/"+id)))
	w.must(err)
	task, err := c.NewTask(ctx, cio.NullIO)
	w.must(err)
	w.must(task.Start(ctx))
	return task
}

// drop removes the container and its snapshot.
func (w *miniWorld) drop(ctx context.Context, id string) {
	w.t.Helper()
	c, err := w.scene.Client.LoadContainer(ctx, id)
	w.must(err)
	w.must(c.Delete(ctx, containerd.WithSnapshotCleanup))
}

func (w *miniWorld) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *miniWorld) settle(ctx context.Context, before inventory.Inventory,
	c residue.Circumstances) ([]finding.Finding, time.Duration) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	begun := time.Now()
	_, found, err := Wait(ctx, w.scene, before, marker(w.t, c))
	w.must(err)
	return found, time.Since(begun)
}

// awaitExit waits for the TaskExit of a container, or the end of ctx.
func awaitExit(ctx context.Context, log *event.Log, id string) {
	log.Await(ctx, func(events []event.Task) bool {
		return slices.ContainsFunc(events, func(e event.Task) bool {
			return e.Topic == event.TopicExit &&
				e.Container == id
		})
	})
}

func TestACleanLifeIsCleanAtOnce(t *testing.T) {
	w, ctx := withContainerd(t)
	var log event.Log
	_, err := log.Record(ctx, w.scene.Client)
	w.must(err)
	before := w.take()
	begun := time.Now()
	task := w.launch(ctx, "c1", "exit 7")
	exited, err := task.Wait(ctx)
	w.must(err)
	reported := <-exited
	heard := []exit.Observation{{Container: "c1", Observer: exit.ByWait, Status: reported.ExitCode(),
		At: reported.ExitTime()}}
	awaitExit(ctx, &log, "c1") // like dockerd: an exiting shim may lose unsent events
	told2, err := task.Delete(ctx)
	w.must(err)
	heard = append(heard,
		exit.Observation{Container: "c1", Observer: exit.ByDelete, Status: told2.ExitCode(), At: told2.ExitTime()})
	w.drop(ctx, "c1")
	found, took := w.settle(ctx, before, residue.Circumstances{Releases: []string{"v2.4.2"}})
	if len(found) != 0 || took > 2*time.Second {
		t.Errorf("settled after %s with %v", took, found)
	}
	truth := []exit.Truth{{Container: "c1", Status: 7, Source: "its script"}}
	must.Len(t, must.Get(exit.Wrong(truth, append(heard, exit.OfEvents(log.Events())...), nil))(t), 0, "exit codes")
	t.Logf("a life and its judgement took %s, the settling %s", time.Since(begun), took)
}

func TestARunningContainerIsSeenWhole(t *testing.T) {
	w, ctx := withContainerd(t)
	before := w.take()
	leased := w.scene.Client.LeasesService()
	_, err := leased.Create(ctx)
	w.must(err)
	short, err := leased.Create(ctx, leases.WithRandomID(), leases.WithExpiration(time.Hour))
	w.must(err)
	w.launch(ctx, "c1", "sleep 1000")
	kept := inventory.Snapshot{Namespace: "default", Snapshotter: "overlayfs", Key: "c1"}
	w.must(leased.AddResource(ctx, short, leases.Resource{ID: kept.Key, Type: "snapshots/" + kept.Snapshotter}))
	inv := w.take()
	if got := inv.Daemon.Expiring; len(got) != 1 || got[0].ID != short.ID ||
		!slices.Equal(got[0].Snapshots, []inventory.Snapshot{kept}) {
		t.Errorf("leases that expire: %v, want %s, which keeps %v", got, short.ID, kept)
	}
	classes := classesOf(compare.Leaks(before, inv))
	for _, want := range []finding.Class{
		finding.ClassShim, finding.ClassProcess, finding.ClassSocket, finding.ClassBundle, finding.ClassMount,
		finding.ClassCgroup, finding.ClassRuncState, finding.ClassSnapshot,
		finding.ClassLease, finding.ClassContainer, finding.ClassTask,
	} {
		if !slices.Contains(classes, want) {
			t.Errorf("no finding of class %s", want)
		}
	}
	// An inventory of one class finds what a complete one finds of this class.
	before.Daemon = &inventory.Daemon{} // as if the namespace was new, too
	for _, class := range finding.LeakClasses {
		part, err := inventory.Take(ctx, w.scene, class)
		w.must(err)
		of := func(inv inventory.Inventory) int { return count(classesOf(compare.Leaks(before, inv)), class) }
		if got, want := of(part), of(inv); got != want {
			t.Errorf("an inventory of %s has %d of these findings, a complete one %d", class, got, want)
		}
	}
	must.Len(t, must.Get(compare.UnknownProcesses(inv))(t), 0, "forgotten", "containerd knows the task")
	// The same process would be a leak if containerd did not know it.
	for reason, d := range map[string]*inventory.Daemon{
		"neither a container nor a task": {}, "but no task": {Containers: []inventory.Ref{{Namespace: "default", ID: "c1"}}},
		"as STOPPED": {Tasks: []inventory.Task{{Namespace: "default", ID: "c1", Status: "STOPPED"}}},
	} {
		inv.Daemon = d
		if found, err := compare.UnknownProcesses(inv); err != nil || len(found) == 0 ||
			!strings.Contains(wording.Reason(found[0]), reason) {
			t.Errorf("forgotten: %v, %v; want one that says %q", found, err, reason)
		}
	}
	inv.Daemon = nil
	must.Is(t, must.ErrorOf(compare.UnknownProcesses(inv)), inventory.ErrNoDaemon, "without containerd")
}

func count(all []finding.Class, one finding.Class) (n int) {
	for _, c := range all {
		if c == one {
			n++
		}
	}
	return n
}

func TestAKilledShimLeavesItsSocketOnly(t *testing.T) {
	w, ctx := withContainerd(t)
	before := w.take()
	task := w.launch(ctx, "c1", "sleep 1000")
	exit, err := task.Wait(ctx)
	w.must(err)
	shim, ok := w.take().Shim("default", "c1")
	if !ok {
		t.Fatal("no shim")
	}
	w.run("/bin/sh", "-c", fmt.Sprintf("kill -KILL %d", shim.PID))
	<-exit
	if _, err := task.Delete(ctx); err != nil {
		t.Logf("delete: %v", err)
	}
	w.drop(ctx, "c1")
	killed := residue.Circumstances{
		Releases: []string{"v2.4.2"}, Happened: []string{residue.ShimKilled, residue.ShimKilledServing},
	}
	found, took := w.settle(ctx, before, killed)
	if len(found) != 1 || found[0].Known != "containerd-11292" || took > 2*time.Second {
		t.Errorf("settled after %s with %v", took, found)
	}
	if notes := residue.Absent(loaded(t), found, killed); len(notes) != 0 {
		t.Errorf("notes: %v", notes)
	}
	// Without a killed shim the socket is a leak, and Wait waits until the deadline.
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	plain := marker(t, residue.Circumstances{Releases: []string{"v2.4.2"}})
	if _, found, err := Wait(short, w.scene, before, plain); err != nil || len(finding.Violations(found)) != 1 {
		t.Errorf("a plain case: %v, %v", found, err)
	}
}

func TestSettleNeedsContainerd(t *testing.T) {
	w, ctx := withContainerd(t)
	before := w.take()
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, _, err := Wait(cancelled, w.scene, before, unmarked); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	s := w.scene
	s.Client = nil
	if _, _, err := Wait(ctx, s, before, unmarked); !errors.Is(err, inventory.ErrNoDaemon) {
		t.Errorf("without a client: %v", err)
	}
	// Wait returns as soon as the leftover is gone.
	pid := w.start(order{Argv: []string{"sleep", "0.3"}})
	found, took := w.settle(ctx, before, residue.Circumstances{})
	if len(found) != 0 || took > 2*time.Second || took < 100*time.Millisecond {
		t.Errorf("process %d: settled after %s with %v", pid, took, found)
	}
}

func TestTakeIsCheap(t *testing.T) {
	w, ctx := withContainerd(t)
	w.take()
	var was, is syscall.Rusage
	w.must(syscall.Getrusage(syscall.RUSAGE_SELF, &was))
	const looks = 100
	begun := time.Now()
	for range looks {
		must.Get(inventory.Take(ctx, w.scene))(t)
	}
	wall := time.Since(begun) / looks
	w.must(syscall.Getrusage(syscall.RUSAGE_SELF, &is))
	cpu := time.Duration(is.Utime.Nano()+is.Stime.Nano()-was.Utime.Nano()-was.Stime.Nano()) / looks
	t.Logf("an inventory takes %s of CPU, %s in all", cpu, wall)
	if cpu > 20*time.Millisecond {
		t.Errorf("an inventory takes %s of CPU: too dear", cpu)
	}
}
