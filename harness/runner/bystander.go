package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client/bystander"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/shims/runcshim"
)

// startBystanders starts what runs beside the workload. No fault happens meanwhile, and
// nothing that is passed is counted: which hit of a point a fault meets does not depend
// on bystanders. The baseline is taken before: what they leave is a leak, too.
func (x *run) startBystanders() error {
	if !x.Workload.Bystander {
		return nil
	}
	x.record.Note("harness", "starts bystanders")
	arm := x.inject.Controller.Bypass(flushTimeout)
	defer arm()
	g := bystander.New(bystander.Params{
		Up: x.up, Fired: x.inject.AnyFired, AllFired: x.inject.AllFired, CRI: x.Workload.API == harness.CRI,
		Network: x.Workload.Network, Terminal: len(x.Workload.Containers) > 0 && x.Workload.Containers[0].TTY,
		Quiet:     x.countsStatements(),
		Faultless: x.Faultless(), Holds: x.holds(), Made: x.setApart,
		Runtime: runcshim.Runtime, Truth: x.world.Truth(), FIFOs: x.world.FIFOs(), Events: &x.events,
		Problem: func(err error) { x.record.Problem(harness.ByHarness, err) },
	})
	x.bystanders.Store(g)
	ctx, cancel := context.WithTimeout(x.ctx, x.Workload.Deadline)
	defer cancel()
	err := x.withPlugins(ctx, func() error { return g.Start(ctx) })
	if err != nil {
		x.record.Failed("harness", "a bystander does not run", err) // the judge's business
		return nil
	}
	g.Watch(x.ctx)
	return nil
}

// countsStatements reports whether what containerd passes at statements counts, whoever
// asks it: they have no ids.
func (x *run) countsStatements() bool {
	return x.trace || slices.ContainsFunc(x.Plan, func(f failpoints.Fault) bool {
		return f.At.Kind == failpoints.Stmt && f.At.Who == "containerd"
	})
}

// setApart has what bystanders pass not counted.
func (x *run) setApart() {
	if g := x.bystanders.Load(); g != nil {
		x.inject.Controller.IgnoreIDs(g.IDs()...)
	}
}

// holds reports whether all that faults do is to hold calls. Where containerd dies, or is
// restarted, or counts what it passes, a newcomer would be one more thing to break.
func (x *run) holds() bool {
	hangs := func(c term.Clause) bool { return c.Action == term.Hang }
	return len(x.Plan) > 0 && !x.Workload.Restarts() && !x.countsStatements() && len(x.Misbehaviours()) == 0 &&
		!slices.ContainsFunc(x.Plan, func(f failpoints.Fault) bool { return !slices.ContainsFunc(f.Do.Clauses(), hangs) })
}

// endPatience is how long bystanders that something was done to are tried to be removed.
const endPatience = 30 * time.Second

// endBystanders lets them come to their ends, when nothing is armed any more.
func (x *run) endBystanders() {
	g := x.bystanders.Load()
	if g == nil {
		return
	}
	x.record.Note("harness", "ends bystanders")
	patience := min(x.Workload.Deadline, endPatience)
	if x.RootDisk() > 0 {
		patience = x.Workload.Deadline // its umount2 is as slow as others'
	}
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	seen, err := g.End(ctx)
	x.record.Set(func(h *harness.History) { h.Bystanders = seen })
	if err != nil {
		x.record.Problem(harness.ByHarness, fmt.Errorf("learn how bystanders ended: %w", err))
	}
}

// isBystander reports whether an id is a bystander's.
func (x *run) isBystander(id string) bool {
	g := x.bystanders.Load()
	return g != nil && slices.Contains(g.IDs(), id)
}

// processes are those of the world that faults may be done to.
func (x *run) processes() ([]inventory.Process, error) {
	all, err := inventory.Processes(x.scene())
	return slices.DeleteFunc(all, func(p inventory.Process) bool { return p.Shim != nil && x.isBystander(p.Shim.ID) }),
		err
}
