// Package settle answers: what is left when nothing changes any more? [Wait] takes
// inventories until one has no leak, or until a deadline.
package settle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// The time between two inventories of Wait. To read one leftover process takes some 50
// us, and a socket or a directory less.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 300 * time.Millisecond
)

// residueLooks is how many complete inventories in a row must show only known residues
// before Wait returns: containerd may still be removing them.
const residueLooks = 3

// collection is the timeout of containerd's garbage collection, as for other requests.
// The collection takes some milliseconds.
const collection = 10 * time.Second

// extraTime is the timeout of the last inventory and its collection, after the deadline.
const extraTime = 5*time.Second + collection

// Marker marks the known residues among findings.
type Marker func([]finding.Finding) []finding.Finding

// Wait waits until nothing new is left, and returns the leftovers with known residues
// marked. It returns at once if nothing is left, soon if only known residues are left,
// and otherwise at ctx's deadline. Without a deadline it may wait forever. It polls,
// because pidfds and inotify do not work across PID namespaces and in cgroup filesystems.
//
// After an error nothing is known about leftovers: ctx was cancelled, containerd did not
// respond before the deadline, or the scene is gone. If Scene.Client is nil, the error is
// [inventory.ErrNoDaemon].
func Wait(ctx context.Context, s inventory.Scene, before inventory.Inventory, mark Marker) (
	inventory.Inventory, []finding.Finding, error) {
	if s.Client == nil {
		return inventory.Inventory{}, nil, fmt.Errorf("settle: %w", inventory.ErrNoDaemon)
	}
	ours, own := map[string]bool{}, s.OwnFile
	s.OwnFile = func(file string) bool { return ours[file] || own != nil && own(file) }
	return waiter{
		before: before,
		mark:   mark,
		take: func(ctx context.Context, only ...finding.Class) (inventory.Inventory, error) {
			return inventory.Take(ctx, s, only...)
		},
		collect: func(ctx context.Context) error {
			return inventory.Collect(ctx, s, func(dir string) { ours[dir] = true })
		},
	}.wait(ctx)
}

// waiter is one call of Wait.
type waiter struct {
	before inventory.Inventory
	mark   Marker
	// take takes an inventory of some classes, or of all.
	take func(ctx context.Context, only ...finding.Class) (inventory.Inventory, error)
	// collect makes containerd collect its garbage.
	collect func(ctx context.Context) error
}

// wait takes complete inventories. Between them, it polls the classes that had violations
// until they have none.
func (w waiter) wait(ctx context.Context) (inventory.Inventory, []finding.Finding, error) {
	var polled []finding.Class // nil: the next inventory is complete
	var err error
	onlyResidues, collected := 0, false
	for pause := firstPause; ctx.Err() == nil; pause = min(pause*3/2, lastPause) {
		var inv inventory.Inventory
		inv, err = w.take(ctx, polled...)
		left := w.mark(w.leaks(inv))
		violations := finding.Violations(left)
		switch {
		case err != nil: // containerd may be starting
			polled = nil
		case polled == nil && !collected && awaitsCollection(left) && w.collect(ctx) == nil:
			collected = true
			continue
		case len(violations) > 0:
			polled, onlyResidues = classesOf(violations), 0
		case polled != nil: // only a complete one shows whether something else is left
			polled = nil
			continue
		case len(left) == 0:
			return inv, nil, nil
		default:
			if onlyResidues++; onlyResidues == residueLooks {
				return inv, left, nil
			}
		}
		_ = sleep(ctx, pause)
	}
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return inventory.Inventory{}, nil, fmt.Errorf("settle: %w", errors.Join(err, ctx.Err()))
	}
	return w.atDeadline(ctx)
}

func (w waiter) leaks(inv inventory.Inventory) []finding.Finding { return compare.Leaks(w.before, inv) }

func classesOf(all []finding.Finding) (classes []finding.Class) {
	for _, f := range all {
		classes = append(classes, f.Class)
	}
	return classes
}

// awaitsCollection reports whether a garbage collection may remove a leftover.
func awaitsCollection(left []finding.Finding) bool {
	return slices.ContainsFunc(left, func(f finding.Finding) bool { return f.Facts[fact.Kind] == fact.ASnapshotDir })
}

// atDeadline takes the last inventory. If a collection may remove a leftover, it makes
// containerd collect its garbage, and takes another one.
func (w waiter) atDeadline(ctx context.Context) (inventory.Inventory, []finding.Finding, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), extraTime)
	defer cancel()
	inv, err := w.take(ctx)
	if err == nil && awaitsCollection(w.leaks(inv)) {
		bound, cancel := context.WithTimeout(ctx, collection)
		defer cancel()
		failed := w.collect(bound)
		if failed == nil {
			inv, err = w.take(ctx)
		}
		inv.Uncollected = callerr.Of(failed)
	}
	if err == nil {
		err = w.readHandlesAgain(ctx, &inv)
	}
	if err != nil {
		return inv, nil, fmt.Errorf("settle: %w", err)
	}
	return inv, w.mark(w.leaks(inv)), nil
}

// handleLooks is how often leftover handles are read again at the deadline.
const handleLooks = 4

// readHandlesAgain reads leftover handles several times. A goroutine of the inventory's
// own request ends soon, but a leak is there each time.
func (w waiter) readHandlesAgain(ctx context.Context, inv *inventory.Inventory) error {
	for pause := firstPause; pause < firstPause<<handleLooks; pause *= 2 {
		if !slices.Contains(classesOf(w.leaks(*inv)), finding.ClassHandle) {
			return nil
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		now, err := w.take(ctx, finding.ClassHandle)
		if err != nil {
			return err
		}
		inv.Handles = now.Handles
	}
	return nil
}

// sleep returns nil after d, or ctx's error if ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
