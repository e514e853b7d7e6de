package runner

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	containerd "github.com/containerd/containerd/v2/client"

	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/fixtures/cni"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/client/cri"
	"github.com/shimquake/shimquake/harness/client/task"
	"github.com/shimquake/shimquake/harness/inject"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/shims/fakeshim"
	"github.com/shimquake/shimquake/shims/runcshim"
)

// clients has the constructor of the client for each API.
var clients = map[harness.API]func(*client.Session) client.Client{
	harness.TaskAPI: func(s *client.Session) client.Client { return task.New(s) },
	harness.Ctr:     func(s *client.Session) client.Client { return task.New(s) },
	harness.CRI:     func(s *client.Session) client.Client { return cri.New(s) },
}

// collectLess reduces the garbage collections of containerd and the shims, which saves a
// tenth of a case's CPU time. If the environment has GOGC, that value counts.
var collectLess = "GOGC=" + cmp.Or(os.Getenv("GOGC"), "400")

// boot creates the world and starts containerd in it. The faults of the plan can happen
// from then on.
func (x *run) boot() (err error) {
	if x.world, err = world.New(x.ctx, world.Config{
		Cache: x.runner.Cache, Show: x.folders(), RootDisk: x.RootDisk(),
	}); err != nil {
		return err
	}
	x.watched.Store(x.world)
	x.ctx = x.world.Context(x.ctx)
	if err := x.world.Room(); err != nil {
		return err
	}
	x.session = client.NewSession(x.clientParams())
	x.client = clients[x.Workload.API](x.session)
	if err := daemon.FillRoot(x.ctx, x.world, x.subject.template); err != nil {
		return err
	}
	socket := filepath.Join(x.world.Dir(), "probes.sock")
	env := []string{probe.SocketEnv + "=" + socket, collectLess}
	network, err := x.makeNetwork()
	if err != nil {
		return err
	}
	if network != "" {
		env = append(env, cni.Env(x.world.Truth().Path(networkFile))...)
	}
	level := ""
	if x.Workload.Debug {
		level = "debug"
	}
	if x.daemon, err = daemon.New(x.ctx, daemon.Params{
		Subject: x.subject.Subject, World: x.world, CRI: x.Workload.API == harness.CRI, CNI: network, LogLevel: level,
		// A case without misbehaviours also has the fake shim, for the second use of the id.
		Env: append(env, inject.Env(x.Case, x.world)...), ExtraPath: filepath.Dir(x.subject.fakeshim),
		Replaced: len(x.installed) > 0,
		OnStart: func(ctx context.Context, _ *daemon.Daemon, c *containerd.Client) error {
			_, err := x.events.Record(ctx, c)
			return errors.Join(err, x.hearCRI(ctx, c))
		},
	}); err != nil {
		return err
	}
	x.record.Set(func(h *harness.History) { h.LeftOut = x.daemon.LeftOut })
	x.inject = inject.New(x.ctx, x.Case, x.target(), &x.record)
	if err := x.inject.Listen(socket); err != nil {
		return err
	}
	if x.trace {
		x.inject.Controller.Trace()
	}
	if x.runner.Cover {
		x.inject.Controller.Cover()
	}
	err = x.daemon.Boot(x.ctx) // last, because a fault may happen during the first boot
	var failed *daemon.BootError
	if errors.As(err, &failed) {
		x.record.Set(func(h *harness.History) { h.Deaths = failed.Deaths })
	}
	return err
}

// clientParams returns the parameters of the client.
func (x *run) clientParams() client.Params {
	p := client.Params{
		Case: x.Case, Connect: x.up, ContainerdExited: func() bool { return len(x.daemon.Deaths()) > 0 },
		Restart: func(ctx context.Context) error {
			err := x.daemon.Restart(ctx)
			x.record.Failed("client", "restarts containerd", err)
			return err
		},
		Install: x.install,
		State:   x.at,
		Fired:   func() bool { return x.inject.AnyFired() }, StoodStill: x.world.StoodStill,
		IsForeign: x.isBystander, ReusePID: x.reusePID,
		Runtime: runcshim.Runtime, OtherRuntime: fakeshim.Runtime,
		Truth: x.world.Truth(), FIFOs: x.world.FIFOs(), Events: &x.events, Record: &x.record,
		Logger:   x.subject.payload,
		OOMKills: x.world.OOMKills, PIDs: x.world.PIDs, CRIEvents: &x.criEvents, Inspect: x.inspectMeanwhile,
		Belongings: func(of ...string) (inventory.Belongings, error) {
			return inventory.TakeBelongings(x.scene(), of...)
		},
		Dial:                x.world.Dial,
		NoExtraCalls:        x.countsStatements(),
		BroadcastsCRIEvents: criview.BroadcastsIn(x.subject.Version),
	}
	if p.Namespace = daemon.TaskNamespace; x.Workload.API == harness.CRI {
		p.Namespace = daemon.CRINamespace
	}
	if x.Workload.Fakeshim != "" {
		p.Runtime = fakeshim.Runtime
	}
	if x.Workload.Fakeshim != "" || x.Workload.Thorough {
		p.OtherRuntime = runcshim.Runtime
	}
	return p
}

// folders returns the host's folders that the containerds of the case need in the world.
func (x *run) folders() []string {
	all := x.subject.Folders()
	for _, s := range x.installed {
		all = append(all, s.Folders()...)
	}
	return all
}

// install replaces the programs of containerd, for its next start.
func (x *run) install(i script.Installation) error {
	s := x.installed[i.Containerd]
	err := x.daemon.Install(s.Subject, i.Elsewhere)
	x.record.Failed("client", "installs containerd "+s.Version, err)
	return err
}

// reusePID starts an idle process that has the given pid. The returned function ends the
// process, and reports whether it had been killed before.
func (x *run) reusePID(ctx context.Context, pid int) (func(context.Context) (bool, error), error) {
	p, err := x.world.StartWithPID(ctx, pid)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (hit bool, err error) {
		if err = p.Kill(ctx); errors.Is(err, signal.ErrGone) {
			return true, nil
		}
		return false, err
	}, nil
}

// target returns the means by which faults reach processes and calls.
func (x *run) target() inject.Target {
	return inject.Target{
		World:     x.world,
		Daemon:    x.daemon,
		Processes: x.processes,
		InitPID:   x.session.InitPID, KnownPID: x.session.KnownPID, Shares: x.client.Shares,
		InFlight: x.session.InFlight, Removed: x.removed, Exited: x.session.Exited, AskWhilePaused: x.session.AskWhilePaused,
	}
}
