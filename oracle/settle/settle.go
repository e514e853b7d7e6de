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

// residueLooks is how many inventories in a row must show only known residues before Wait
// returns. The others between them have only the classes of the leftovers. The last one
// is complete, so it also finds new leaks.
const residueLooks = 3

// finalLook is the timeout of the last inventory, after the deadline.
const finalLook = 5 * time.Second

// collection is the timeout of containerd's garbage collection, as for other requests.
// The collection takes some milliseconds.
const collection = 10 * time.Second

// Marker marks the known residues among findings.
type Marker func([]finding.Finding) []finding.Finding

// Wait waits until nothing new is left, and returns the leftovers with known residues
// marked. It returns at once if nothing is left, soon if only known residues are left,
// and otherwise at ctx's deadline. Without a deadline it may wait forever. Between
// complete inventories it polls only the classes of the leftovers. It polls because
// pidfds and inotify do not work across PID namespaces and in cgroup filesystems.
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
	look := looker{
		take: func(ctx context.Context, only ...finding.Class) (inventory.Inventory, error) {
			return inventory.Take(ctx, s, only...)
		},
		collect: func(ctx context.Context) error {
			return inventory.Collect(ctx, s, func(dir string) { ours[dir] = true })
		},
	}
	return look.settle(ctx, before, mark)
}

// looker has the functions that take an inventory, and that make containerd collect
// garbage.
type looker struct {
	take    func(ctx context.Context, only ...finding.Class) (inventory.Inventory, error)
	collect func(ctx context.Context) error
}

func (look looker) settle(ctx context.Context, before inventory.Inventory, mark Marker) (
	inventory.Inventory, []finding.Finding, error) {
	pause, collected := firstPause, false
	quiet := 0 // how many inventories in a row had only known residues
	for {
		inv, err := look.take(ctx)
		var left []finding.Finding
		if err == nil {
			left = mark(compare.Leaks(before, inv))
			if awaitsCollection(left) && !collected {
				if err := look.collect(ctx); err == nil {
					collected = true
					continue
				}
			}
			if len(left) == 0 {
				return inv, nil, nil
			}
			if quiet++; len(finding.Violations(left)) > 0 {
				quiet = 0
			}
			if quiet == residueLooks {
				return inv, left, nil
			}
			quiet, err = look.awaitChange(ctx, before, inv, left, mark, &pause, quiet)
		}
		if err != nil && ctx.Err() == nil {
			_ = wait(ctx, pause) // containerd may be starting, or may notice the deadline first
		}
		if ctx.Err() == nil {
			continue
		}
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return inv, left, fmt.Errorf("settle: %w", errors.Join(err, ctx.Err()))
		}
		return look.last(ctx, before, mark)
	}
}

// awaitChange takes inventories of the classes with violations, with growing pauses,
// until no violation is left in them. If only known residues are left, it takes
// inventories of their classes until only the last, complete one is missing. It returns
// how many in a row had only known residues.
func (look looker) awaitChange(
	ctx context.Context,
	before, full inventory.Inventory,
	left []finding.Finding,
	mark Marker,
	pause *time.Duration,
	quiet int,
) (int, error) {
	waitFor := left
	if quiet == 0 {
		waitFor = finding.Violations(left)
	}
	want := classesOf(waitFor)
	for {
		if err := wait(ctx, *pause); err != nil {
			return quiet, err
		}
		*pause = min(*pause*3/2, lastPause)
		if quiet == residueLooks-1 {
			return quiet, nil
		}
		some, err := look.take(ctx, want...)
		if err != nil {
			return quiet, err
		}
		if some.Daemon == nil && full.Daemon != nil { // the cgroups of containerd's namespaces are not leaks
			some.Daemon = &inventory.Daemon{Namespaces: full.Daemon.Namespaces}
		}
		still := mark(compare.Leaks(before, some))
		violates := len(finding.Violations(still)) > 0
		if quiet == 0 && violates {
			continue
		}
		if quiet == 0 || violates || len(still) == 0 { // only a complete inventory can decide
			return quiet, nil
		}
		quiet++
	}
}

// classesOf returns the classes that show whether findings still hold.
func classesOf(left []finding.Finding) (want []finding.Class) {
	for _, f := range left {
		want = append(want, f.Class)
		if f.Class == finding.ClassFile { // without these classes, their files would also be reported as files
			want = append(want, finding.ClassesThat(func(k finding.Kind) bool { return k.Covers })...)
		}
	}
	return want
}

// awaitsCollection reports whether a garbage collection may remove a leftover.
func awaitsCollection(left []finding.Finding) bool {
	return slices.ContainsFunc(left, func(f finding.Finding) bool { return f.Facts[fact.Kind] == fact.ASnapshotDir })
}

// last takes the inventory at the deadline, with a little extra time. If a collection may
// remove a leftover, it makes containerd collect its garbage, and takes another one.
func (look looker) last(ctx context.Context, before inventory.Inventory, mark Marker) (
	inventory.Inventory, []finding.Finding, error) {
	ctx = context.WithoutCancel(ctx)
	final, cancel := context.WithTimeout(ctx, finalLook)
	defer cancel()
	inv, err := look.take(final)
	if err == nil && awaitsCollection(compare.Leaks(before, inv)) {
		bound, cancel := context.WithTimeout(ctx, collection)
		defer cancel()
		failed := look.collect(bound)
		final, cancel = context.WithTimeout(ctx, finalLook)
		defer cancel()
		if failed == nil {
			inv, err = look.take(final)
		}
		inv.Uncollected = callerr.Of(failed)
	}
	if err == nil {
		err = look.again(final, before, &inv)
	}
	if err != nil {
		return inv, nil, fmt.Errorf("settle: %w", err)
	}
	return inv, mark(compare.Leaks(before, inv)), nil
}

// handleLooks is how often leftover handles are read again at the deadline.
const handleLooks = 4

// again reads leftover handles several times. A goroutine of the inventory's own request
// ends soon, but a leak is there each time.
func (look looker) again(ctx context.Context, before inventory.Inventory, inv *inventory.Inventory) error {
	for pause := firstPause; pause < firstPause<<handleLooks; pause *= 2 {
		if !slices.ContainsFunc(compare.Leaks(before, *inv),
			func(f finding.Finding) bool { return f.Class == finding.ClassHandle }) {
			return nil
		}
		if err := wait(ctx, pause); err != nil {
			return err
		}
		now, err := look.take(ctx, finding.ClassHandle)
		if err != nil {
			return err
		}
		inv.Handles = now.Handles
	}
	return nil
}

// wait returns nil after d, or ctx's error if ctx ends first.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
