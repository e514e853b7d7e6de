package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/judge"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/residue"
	"github.com/shimquake/shimquake/oracle/settle"
)

// answerBound is how long an idle containerd may take to respond to a simple call. It
// takes less than a millisecond.
const answerBound = 5 * time.Second

// busyBound is how long settle waits, in addition to Workload.Settle, for a containerd
// that still calls a shim. A cleanup takes up to 5 s for Delete, 5 s for Shutdown and 3 s
// for `shim delete`. These are shim.cleanup and shim.shutdown in [timeouts].
const busyBound = 13 * time.Second

// inspect waits until nothing changes in the world any more, and records the inventory
// and the events.
func (x *run) inspect() error {
	l := x.inspectNode(x.before())
	x.record.Set(func(h *harness.History) { h.After = &l })
	if err := x.readContainerdLog(); err != nil || l.Inventory == nil {
		return err
	}
	if err := x.flushEvents(); err != nil {
		return err
	}
	x.awaitEvents()
	x.inject.Controller.Flush(flushTimeout)
	h := x.history()
	flushed := h.Lengths() // before inspectCRI, because that may create a pod
	x.inspectCRI()
	instances := x.instances() // before the id is used again
	x.record.Set(func(h *harness.History) {
		h.Instances = instances
		h.Flushed = flushed
	})
	x.found = x.runner.verdict(x.history())
	x.dump()
	return nil
}

func (x *run) before() inventory.Inventory { return *x.record.History().Before }

// inspectNode compares the world with an earlier inventory until there is no
// difference, or until the differences no longer change. It returns the last inventory.
func (x *run) inspectNode(before inventory.Inventory) (l harness.Inspection) {
	var scene inventory.Scene
	reached := func(up context.Context) (err error) {
		scene, err = x.sceneUp(up)
		return err
	}
	if err := x.limited(reached); err != nil {
		return harness.Inspection{At: time.Now(), Up: callerr.Of(err)}
	}
	var after inventory.Inventory
	err := x.withPlugins(func(up context.Context) (err error) {
		if err = reached(up); err == nil { // a restart needs a new scene
			after, err = x.settle(up, scene, before)
		}
		return err
	})
	l = harness.Inspection{At: time.Now(), Asked: callerr.Of(err)}
	if err == nil {
		l.Inventory = &after
	} else if x.limited(reached) != nil { // because scene may have the client of a containerd that has exited
		return l
	}
	_ = x.limited(func(up context.Context) error {
		a := x.askAgain(up, scene)
		l.Answer = &a
		return nil
	})
	return l
}

// askAgain makes a simple call to containerd. If containerd was restarted meanwhile,
// askAgain repeats the call with the new connection.
func (x *run) askAgain(up context.Context, s inventory.Scene) harness.Answer {
	for {
		a := answer(x.ctx, s)
		if a.Err == nil {
			return a
		}
		now, err := x.sceneUp(up)
		if err != nil || now.Client == s.Client {
			return a
		}
		s = now
	}
}

// answer makes a simple call to containerd, and returns the response.
func answer(ctx context.Context, s inventory.Scene) harness.Answer {
	bound, cancel := context.WithTimeout(ctx, answerBound)
	defer cancel()
	a, begun := harness.Answer{Bound: answerBound}, time.Now()
	_, err := s.Client.Version(bound)
	a.Took = time.Since(begun).Round(time.Microsecond)
	if ctx.Err() == nil {
		a.Err = callerr.Of(err)
	}
	return a
}

// settle waits until nothing changes in the world any more, and returns the inventory.
// While containerd still waits for a shim's response, settle continues, because
// containerd may clean up afterwards. If containerd exits meanwhile, settle waits for the
// next one until the context up ends.
func (x *run) settle(
	up context.Context,
	s inventory.Scene,
	before inventory.Inventory,
) (inventory.Inventory, error) {
	limit := time.Now().Add(x.Workload.Settle + busyBound)
	for {
		inv, left, late, err := x.settleOnce(s, before)
		if err != nil {
			now, downErr := x.sceneUp(up)
			if downErr != nil || now.Client == s.Client || time.Now().After(limit) {
				return inv, err
			}
			s = now // because s has the client of a containerd that has exited
			continue
		}
		if late && time.Now().Before(limit) {
			continue // relist removed an object, maybe after the inventory
		}
		x.inject.Controller.Flush(flushTimeout)
		busy := calling(x.inject.Controller.Hits(), x.daemon.Deaths())
		if len(finding.Violations(left)) == 0 || busy == "" || time.Now().After(limit) {
			return inv, nil
		}
		x.record.Note("oracle", "%d findings so far; containerd has not finished %s", len(left), busy)
	}
}

func (x *run) settleOnce(
	s inventory.Scene,
	before inventory.Inventory,
) (inv inventory.Inventory, left []finding.Finding, late bool, err error) {
	ctx, cancel := context.WithTimeout(x.ctx, x.Workload.Settle)
	defer cancel()
	now := judge.Conditions(x.history())
	mark := func(all []finding.Finding) []finding.Finding { return residue.Mark(x.runner.Residues, all, now) }
	relisted := x.relist(ctx)
	x.runner.yield(func() { inv, left, err = settle.Wait(ctx, s, before, mark) })
	cancel()
	late = relisted(len(finding.Violations(left)) > 0)
	return inv, left, late, err
}

// relist starts a goroutine that removes objects which appear late, because a create call
// of the client had timed out. It ends with ctx. The returned function waits for its end,
// and reports whether it removed an object. If last is set, the function first lists once
// more.
func (x *run) relist(ctx context.Context) func(last bool) bool {
	r, ok := x.client.(client.LateRemover)
	if !ok || !x.clientIsDone() || r.RelistEvery() == 0 {
		return func(bool) bool { return false }
	}
	result := make(chan bool, 1)
	go func() {
		tick := time.Tick(r.RelistEvery())
		removed := false
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-tick:
				removed = r.Relist(x.ctx) || removed // x.ctx, because the end of ctx must not interrupt a removal
			}
		}
		result <- removed
	}()
	return func(last bool) bool {
		removed := <-result
		return last && r.Relist(x.ctx) || removed
	}
}

func (x *run) clientIsDone() bool {
	select {
	case <-x.removed:
		return true
	default:
		return false
	}
}

// flushEvents waits until all events that containerd has published so far have arrived.
func (x *run) flushEvents() error {
	ctx, cancel := context.WithTimeout(x.ctx, x.lookLimit())
	defer cancel()
	c, _, err := x.up(ctx)
	if err == nil {
		err = x.events.Flush(ctx, c)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("wait for the last events: %w", err), x.ctx.Err())
	}
	return nil
}

// calling returns the name of a call to a shim that a running containerd has not
// finished, or "". It ignores Wait, which lasts as long as the task.
func calling(hits []failpoints.Hit, deaths []daemon.Death) string {
	type call struct {
		pid        int
		method, id string
	}
	dead := map[int]bool{}
	for _, d := range deaths {
		dead[d.PID] = true
	}
	open := map[call]int{}
	var order []call
	for _, h := range hits {
		p := h.ParsedPoint()
		if p.Who != "containerd" || p.Service() != "Task" || p.What == "Task.Wait" {
			continue
		}
		c := call{h.PID, p.What, h.ID}
		if p.Where == "exit" {
			open[c]--
			continue
		}
		open[c]++
		order = append(order, c)
	}
	for _, c := range order {
		if open[c] > 0 && !dead[c.pid] {
			return c.method + " of " + c.id
		}
	}
	return ""
}

// eventTimeout is how long awaitEvents waits. If containerd did not accept an event, the
// shim repeats it a second later. After a shim's death, containerd publishes the exit
// event at the end of its cleanup: at a load of 40, that took two more seconds.
const eventTimeout = 5 * time.Second

// awaitEvents waits for the task events that are due. inspectCRI waits for CRI's own
// events.
func (x *run) awaitEvents() {
	ctx, cancel := context.WithTimeout(x.ctx, eventTimeout)
	defer cancel()
	x.events.Await(ctx, func([]event.Task) bool { return x.allArrived(finding.ClassEvent) })
}

// allArrived reports whether the events of a class have arrived that are due by the rules
// of the judge.
func (x *run) allArrived(class finding.Class) bool {
	due := judge.DueEvents(x.history(), x.runner.Residues)
	return !slices.ContainsFunc(due, func(f finding.Finding) bool { return f.Class == class })
}
