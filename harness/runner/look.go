package runner

import (
	"context"
	"errors"
	"fmt"
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

// answerBound is how long an idle containerd may take for a simple answer. It takes less
// than a millisecond.
const answerBound = 5 * time.Second

// busyBound is how long settle waits in all, past the workload's own time, for a
// containerd that is still calling a shim: to clean up it takes 5 s each for Delete and
// Shutdown, one after the other, and 3 s more in its own Delete (shim.cleanup and
// shim.shutdown of [timeouts]).
const busyBound = 13 * time.Second

// look waits for what is still going on, and takes down what is left and what events have
// come.
func (x *run) look() error {
	l := x.lookAt(x.before())
	x.record.Set(func(h *harness.History) { h.After = &l })
	if err := x.lookAtLog(); err != nil || l.Inventory == nil {
		return err
	}
	if err := x.flushEvents(); err != nil {
		return err
	}
	x.awaitEvents()
	x.inject.Controller.Flush(flushTimeout)
	flushed := all(x.history()) // names may be tried in a pod of our own
	x.lookAtCRI()
	instances := x.instances() // before the id is used again
	x.record.Set(func(h *harness.History) {
		h.Instances = instances
		h.Flushed = flushed
	})
	x.found = x.runner.verdict(x.history())
	x.dump()
	return nil
}

// all is how much has come by now.
func all(h harness.History) *harness.Flushed {
	return &harness.Flushed{Events: len(h.Events), Hits: len(h.Hits), Reported: len(h.Reported)}
}

func (x *run) before() inventory.Inventory { return *x.record.History().Before }

// lookAt compares with an inventory until nothing is left, or what is left stays.
func (x *run) lookAt(before inventory.Inventory) (l harness.Look) {
	up, cancel := context.WithTimeout(x.ctx, x.Workload.Deadline)
	defer cancel()
	scene, err := x.sceneUp(up)
	if err != nil {
		return harness.Look{At: time.Now(), Up: callerr.Of(err)}
	}
	var after inventory.Inventory
	err = x.withPlugins(up, func() (err error) {
		if scene, err = x.sceneUp(up); err == nil { // a new one after a restart
			after, err = x.settle(up, scene, before)
		}
		return err
	})
	l = harness.Look{At: time.Now(), Asked: callerr.Of(err)}
	if err == nil {
		l.Inventory = &after
	} else if now, downErr := x.sceneUp(up); downErr == nil {
		scene = now // the client at hand may be that of one that was killed meanwhile
	} else {
		return l
	}
	a := x.askAgain(up, scene)
	l.Answer = &a
	return l
}

// askAgain asks containerd a simple question, and a containerd that was started meanwhile
// once more: the connection to the one before is closed.
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

// answer asks containerd a simple question.
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

// settle waits for what is still going on, and takes the inventory of what is left then.
// A leak is one when nobody is about to remove it: while containerd waits for a shim's
// answer it may still clean up behind it. A containerd that dies meanwhile is waited for
// while up lasts.
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
			s = now // that client was of a containerd that has died meanwhile
			continue
		}
		if late && time.Now().Before(limit) {
			continue // the inventory may be of before that
		}
		x.inject.Controller.Flush(flushTimeout)
		busy := calling(x.inject.Controller.Hits(), x.daemon.Deaths())
		if len(finding.Violations(left)) == 0 || busy == "" || time.Now().After(limit) {
			return inv, nil
		}
		x.record.Note("oracle", "%d things are left; containerd is still at %s", len(left), busy)
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
	x.yield(func() { inv, left, err = settle.Wait(ctx, s, before, mark) })
	cancel()
	late = relisted(len(finding.Violations(left)) > 0)
	return inv, left, late, err
}

// relist has a client that gave up a call list again what there is, time and again while
// the world settles. What it returns ends that, with one last time where something is
// left, and reports whether anything was removed.
func (x *run) relist(ctx context.Context) func(last bool) bool {
	r, ok := x.client.(client.Relister)
	if !ok || !x.clientIsDone() || r.RelistEvery() == 0 {
		return func(bool) bool { return false }
	}
	result := make(chan bool, 1)
	go func() {
		tick := time.NewTicker(r.RelistEvery())
		defer tick.Stop()
		removed := false
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-tick.C:
				removed = r.Relist(x.ctx) || removed // to its end: cut off it would leave something itself
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

func (x *run) yield(wait func()) {
	if x.runner.Yield == nil {
		wait()
		return
	}
	x.runner.Yield(wait)
}

// flushEvents waits until the events that containerd heard of have come.
func (x *run) flushEvents() error {
	ctx, cancel := context.WithTimeout(x.ctx, x.Workload.Deadline)
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

// calling is a call to a shim that a living containerd has begun and not ended, or "". A
// Wait says nothing: it lasts as long as the task.
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
		p := h.Passed()
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

// eventPatience is how long events that must come are waited for when everything else has
// settled: a shim sends one again a second later that containerd was not up for, and a
// containerd that cleans up after a dead shim tells of the exit last (at a load of 40
// more than two seconds later).
const eventPatience = 5 * time.Second

// awaitEvents waits for events of tasks whose lack would violate: CRI's own are awaited
// by themselves.
func (x *run) awaitEvents() {
	ctx, cancel := context.WithTimeout(x.ctx, eventPatience)
	defer cancel()
	x.events.Await(ctx, func([]event.Task) bool {
		h := x.history()
		h.Flushed = all(h)
		return !judge.MissesEvents(h, x.runner.Residues)
	})
}
