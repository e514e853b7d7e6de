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
)

// startBystanders starts the bystanders: containers that no fault targets. Faults are off
// meanwhile, and no hit counts, so that the bystanders do not change at which hit a fault
// happens. They start after the baseline inventory, so anything that they leave also
// counts as a leak.
func (x *run) startBystanders() error {
	if !x.Workload.Bystander {
		return nil
	}
	x.record.Note("harness", "starts bystanders")
	arm := x.inject.Controller.Bypass(flushTimeout)
	defer arm()
	g := bystander.New(x.ctx, bystander.Params{Client: x.clientParams(), AllFired: x.inject.AllFired,
		OnlyPauses: x.holds(), OnNewID: x.ignoreBystanders})
	x.bystanders.Store(g)
	if err := x.withPlugins(g.Start); err != nil {
		x.record.Failed("harness", "a bystander does not run", err) // the judge reports the error
	}
	return nil
}

// countsStatements reports whether the case counts how often containerd executes
// statements. A statement has no container id, so that further calls of the harness would
// count, too.
func (x *run) countsStatements() bool {
	return x.trace || slices.ContainsFunc(x.Plan, func(f failpoints.Fault) bool {
		return f.At.Kind == failpoints.Stmt && f.At.Who == "containerd"
	})
}

// ignoreBystanders tells the controller of the faults not to count hits with ids of
// bystanders.
func (x *run) ignoreBystanders() {
	if g := x.bystanders.Load(); g != nil {
		x.inject.Controller.IgnoreIDs(g.IDs()...)
	}
}

// holds reports whether a newcomer can run: a bystander that starts while a fault blocks
// calls. All faults of the case must only block calls. A newcomer would change the case
// if containerd exits, or if the case counts its statements.
func (x *run) holds() bool {
	hangs := func(c term.Clause) bool { return c.Action == term.Hang }
	return len(x.Plan) > 0 && !x.Workload.Restarts() && !x.countsStatements() && len(x.Misbehaviours()) == 0 &&
		!slices.ContainsFunc(x.Plan, func(f failpoints.Fault) bool { return !slices.ContainsFunc(f.Do.Clauses(), hangs) })
}

// endTimeout is the timeout for the removal of bystanders.
const endTimeout = 30 * time.Second

// endBystanders ends the bystanders. No fault can happen any more then.
func (x *run) endBystanders() {
	g := x.bystanders.Load()
	if g == nil {
		return
	}
	x.record.Note("harness", "ends bystanders")
	timeout := min(x.Workload.TimeLimit, endTimeout)
	if x.RootDisk() > 0 {
		timeout = x.Workload.TimeLimit // the disk is slow for bystanders, too
	}
	ctx, cancel := context.WithTimeout(x.ctx, timeout)
	defer cancel()
	seen, err := g.End(ctx)
	x.record.Set(func(h *harness.History) { h.Bystanders = seen })
	if err != nil {
		x.record.Problem(harness.ByHarness, fmt.Errorf("read how bystanders ended: %w", err))
	}
}

// isBystander reports whether an id belongs to a bystander.
func (x *run) isBystander(id string) bool {
	g := x.bystanders.Load()
	return g != nil && slices.Contains(g.IDs(), id)
}

// processes returns the processes of the world, without the shims of bystanders.
func (x *run) processes() ([]inventory.Process, error) {
	all, err := inventory.Processes(x.scene())
	return slices.DeleteFunc(all, func(p inventory.Process) bool { return p.Shim != nil && x.isBystander(p.Shim.ID) }),
		err
}
