package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/oracle"
	"github.com/shimquake/shimquake/shims/fakeshim"
	"github.com/shimquake/shimquake/shims/runcshim"
)

// Runner runs cases. Its zero value is ready; it may run several at once.
type Runner struct {
	// Cache keeps what is built. Default: containerd.CacheDir().
	Cache string
	// Evidence is where folders with the evidence of cases that did not hold are kept. Default: out/evidence.
	Evidence string
	// KeepAll keeps the evidence of cases that held, too.
	KeepAll bool
	// Log is told of builds. Default: nobody.
	Log io.Writer
	// Brief saves most of the second use of the first id, where nothing was left: of a pod a sandbox without containers is run, by whose name it can
	// be in the way; of a task, where containerd was started again since the last fault, container and snapshot are created and deleted. It saves
	// a fourth of the case. Default: a whole lifecycle.
	Brief bool
	// Yield, if any, is called around a time in which a case only waits for what may still go away by itself, up to Workload.Settle: whoever hands out
	// processors can give this one's to another case meanwhile. It must call wait once, and return when the case may go on.
	Yield func(wait func())
	// Sabotage is for positive controls and nothing else (suites/control): called when the client is done and before the oracle looks, it leaves
	// something in the world that must be found. Default: nil.
	Sabotage func(context.Context, Scene) error

	mu       sync.Mutex
	prepared map[string]*subject
}

// subject is a containerd under test with its root's template.
type subject struct {
	*containerd.Subject
	template string
	fakeshim string // path of the fake shim's program
}

func (r *Runner) yield(wait func()) {
	if r.Yield == nil {
		wait()
		return
	}
	r.Yield(wait)
}

// Prepare builds what the cases of a subject need, so that the first Run does not take a minute.
func (r *Runner) Prepare(ctx context.Context, spec string) error {
	_, err := r.prepare(ctx, spec)
	return err
}

func (r *Runner) prepare(ctx context.Context, spec string) (*subject, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.prepared[spec]; s != nil {
		return s, nil
	}
	if err := world.Check(); err != nil {
		return nil, err
	}
	if r.Cache == "" {
		dir, err := containerd.CacheDir()
		if err != nil {
			return nil, err
		}
		r.Cache = dir
	}
	s, err := containerd.Resolve(ctx, spec, containerd.Options{Cache: r.Cache, Log: r.Log})
	if err != nil {
		return nil, err
	}
	template, err := daemon.Template(ctx, s, r.Cache)
	if err != nil {
		return nil, err
	}
	fake, err := fakeshim.Build(ctx, r.Cache)
	if err != nil {
		return nil, err
	}
	if r.prepared == nil {
		r.prepared = map[string]*subject{}
	}
	r.prepared[spec] = &subject{Subject: s, template: template, fakeshim: fake}
	return r.prepared[spec], nil
}

// experiment is one run of a case.
type experiment struct {
	Case
	runner     *Runner
	ctx        context.Context
	subject    *subject
	world      *world.World
	controller *failpoints.Controller
	daemon     *daemon.Daemon
	client     workloader
	inject     *injector
	caller     *caller
	timeline   *timeline
	witness    witness
	ledger     *oracle.Ledger
	events     *oracle.EventLog
	before     oracle.Inventory
	removed    chan struct{} // closed when the client is done
	trace      *Trace        // where the passes go; nil: they are not traced

	mu   sync.Mutex
	errs []error // what makes the verdict invalid
}

// invalid notes a reason why the verdict says nothing.
func (x *experiment) invalid(err error) {
	if err == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.errs = append(x.errs, err)
}

// callFailed makes the verdict invalid when a call of the client fails although nothing has been broken yet: a workload that does not work
// by itself shows nothing about the fault.
func (x *experiment) callFailed(what string, err error) {
	if !x.inject.anyFired() && !x.overtaken(err) {
		x.invalid(fmt.Errorf("%s failed before any fault had happened: %w", what, err))
	}
}

// overtaken says whether a call has failed because somebody else has been quicker to delete: another client, or a containerd that was started.
func (x *experiment) overtaken(err error) bool {
	return errdefs.IsNotFound(err) && (x.Workload.Deleters > 1 || x.Workload.Restart)
}

// Run runs a case and judges it. It never fails: what keeps a case from being judged is told by a Verdict that is invalid.
func (r *Runner) Run(ctx context.Context, c Case) Verdict {
	return r.run(ctx, r.experiment(ctx, c))
}

func (r *Runner) run(ctx context.Context, x *experiment) Verdict {
	begun := time.Now()
	v := Verdict{Case: x.Case, Name: x.Name}
	err := x.Check()
	if err == nil {
		err = x.perform(ctx, &v)
	}
	x.invalid(err)
	v.conclude(errors.Join(x.errs...))
	v.Took = time.Since(begun)
	return v
}

// experiment is a run that has not begun.
func (r *Runner) experiment(ctx context.Context, c Case) *experiment {
	x := &experiment{
		Case: c, runner: r, ctx: ctx, timeline: &timeline{}, ledger: &oracle.Ledger{}, events: &oracle.EventLog{},
		removed: make(chan struct{}),
	}
	x.Workload = c.Workload.withDefaults()
	return x
}

// conclude decides the outcome.
func (v *Verdict) conclude(invalid error) {
	switch {
	case invalid != nil:
		v.Outcome, v.Why, v.Unable = Invalid, invalid.Error(), Unable(invalid)
		var boot *daemon.BootError
		v.NoBoot = errors.As(invalid, &boot)
	case len(v.Violations()) > 0:
		v.Outcome = Violated
	default:
		v.Outcome = Held
	}
}

// perform makes the world, runs the workload in it and judges what it left.
func (x *experiment) perform(ctx context.Context, v *Verdict) (err error) {
	if x.subject, err = x.runner.prepare(ctx, x.Containerd); err != nil {
		return err
	}
	v.Version = x.subject.Version
	for _, f := range x.Plan {
		if err := x.subject.Has(f.At); err != nil {
			return err
		}
	}
	if err := x.Able(); err != nil {
		return err
	}
	if err := x.build(ctx); err != nil {
		return errors.Join(err, x.leave(v, err))
	}
	v.LeftOut = x.daemon.LeftOut
	err = x.experience(ctx, v)
	return errors.Join(err, x.leave(v, err))
}

// build makes the world, with containerd up and the plan armed.
func (x *experiment) build(ctx context.Context) (err error) {
	if x.world, err = world.New(ctx, world.Config{Cache: x.runner.Cache, RootDisk: x.rootDisk()}); err != nil {
		return err
	}
	x.witness = witness{x.world}
	x.caller = &caller{timeline: x.timeline, timeout: x.Workload.CallTimeout, failed: x.callFailed}
	x.inject = newInjector(x)
	x.client = newTaskClient(x)
	if x.Workload.API == CRI {
		x.client = newCRIClient(x)
	}
	return x.boot(ctx)
}

// leave keeps the evidence of a bad end and ends the world, however far it was built.
func (x *experiment) leave(v *Verdict, failure error) error {
	if x.world == nil {
		return nil
	}
	err := errors.Join(x.keep(v, failure), x.inject.clean())
	v.CPU = x.world.CPU()
	if x.daemon != nil {
		x.daemon.Close()
	}
	err = errors.Join(err, x.world.Close()) // its processes are the controller's clients
	if x.controller != nil {
		err = errors.Join(err, x.controller.Close())
	}
	return err
}

// collectLess spares processes that live for less than a second most of their garbage collections: a tenth of a case's CPU time. It can be set from
// outside, like every other variable.
var collectLess = "GOGC=" + cmp.Or(os.Getenv("GOGC"), "400")

// boot starts containerd, with the plan armed.
func (x *experiment) boot(ctx context.Context) error {
	if err := daemon.FillRoot(ctx, x.world, x.subject.template); err != nil {
		return err
	}
	socket := filepath.Join(x.world.Dir(), "probes.sock")
	env := []string{probe.SocketEnv + "=" + socket, collectLess}
	// Without misbehaviour the fake shim is what the id is used again with.
	env = append(env, x.fakeshimEnv()...)
	var err error
	if x.controller, err = failpoints.Listen(socket, x.Plan, x.inject.onPause); err != nil {
		return err
	}
	if x.trace != nil {
		x.controller.Trace()
	}
	x.daemon, err = daemon.Start(ctx, daemon.Params{
		Subject: x.subject.Subject, World: x.world, CRI: x.Workload.API == CRI, Env: env, ExtraPath: filepath.Dir(x.subject.fakeshim),
		OnStart: func(ctx context.Context, _ *daemon.Daemon, c *client.Client) error {
			_, err := x.events.Record(ctx, c)
			return err
		},
	})
	return err
}

// experience lets the workload meet the plan, and asks the oracle.
func (x *experiment) experience(ctx context.Context, v *Verdict) error {
	if err := x.takeBefore(ctx); err != nil {
		return err
	}
	gaveUp := x.client.run(ctx)
	close(x.removed)
	x.controller.Flush(hitPatience)
	v.Firings = x.inject.finish()
	x.controller.Arm(nil)
	x.invalid(x.unfired(v.Firings))
	x.invalid(unhurt(x.Case, x.controller.Hits()))
	x.invalid(x.controller.Err())
	x.traced()
	if ctx.Err() != nil {
		return fmt.Errorf("the run was ended: %w", ctx.Err())
	}
	if err := x.sabotage(ctx); err != nil {
		return err
	}
	err := x.judge(ctx, v, gaveUp)
	if own := ownDeaths(x.daemon.Deaths(), x.controller.Hits()); len(own) > 0 {
		v.Findings = append(v.Findings, own...)
		if err != nil { // it died under the oracle's eyes: that it could not tell the rest makes nothing of this untrue
			x.timeline.note("oracle", "could not look at everything: %v", err)
			err = nil
		}
	}
	v.Timeline = x.tell()
	return err
}

// hitPatience is how long a process that stands still may keep the hits of the others from being read.
const hitPatience = 2 * time.Second

// scene is the world as the oracle sees it, without containerd.
func (x *experiment) scene() oracle.Scene {
	return oracle.Scene{
		Root: x.world.Inside("/"), State: daemon.StateDir, ContainerdRoot: x.world.RootDir(), CgroupDirs: x.world.CgroupDirs(),
		FIFODirs: []string{"/run/containerd/fifo", x.world.FIFODir()},
		Own: func(pid int) bool {
			return pid == 1 || pid == x.daemon.PID()
		},
	}
}

// sceneUp is the scene with a containerd that answers.
func (x *experiment) sceneUp(ctx context.Context) (oracle.Scene, error) {
	c, _, err := x.daemon.Up(ctx)
	if err != nil {
		return oracle.Scene{}, err
	}
	s := x.scene()
	s.Client = c
	return s, nil
}

// runtime is the name of the shim's runtime.
func (x *experiment) runtime(k *container) string {
	if k.shim != "" {
		return k.shim
	}
	if x.Workload.Fakeshim != "" {
		return fakeshim.Runtime
	}
	return runcshim.Runtime
}

// command is what a container's payload is told to do.
func (x *experiment) command(k *container) []string {
	if k.spec.Signal != "" {
		return []string{payload.Program, "wait"}
	}
	kind := "exit"
	if k.spec.HoldStdout {
		kind = "hold-stdout"
	}
	args := []string{payload.Program, kind, fmt.Sprint(k.spec.Exit)}
	if x.holds() {
		args = append(args, "-trigger", filepath.Join(mountedTruth, k.name+".end"))
	}
	return args
}
