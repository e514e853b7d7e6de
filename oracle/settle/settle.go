// Package settle answers: what is left when nothing changes any more? [Wait] takes
// inventories until none differs from the first, or until a deadline.
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

// How often Wait looks again. A look at one leftover process costs some 50 us; a socket
// or a directory less.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 300 * time.Millisecond
)

// residueLooks is how many looks in a row must find nothing but known residues before
// Wait takes them for final. The first and the last see everything, those between only
// the classes of what was left: what comes meanwhile the last one sees.
const residueLooks = 3

// finalLook is how long the last inventory may take once the deadline has passed.
const finalLook = 5 * time.Second

// collection is how long containerd may take to collect its garbage then, which takes it
// some milliseconds: as long as other answers of its.
const collection = 10 * time.Second

// Marker marks the known residues among findings.
type Marker func([]finding.Finding) []finding.Finding

// Wait waits until nothing is in the scene that was not in before, and returns what is
// left, known residues marked. It returns at once when nothing is left, soon when only
// known residues are, and otherwise at ctx's deadline with the findings; without a
// deadline it waits permanently. Between full inventories it looks only at the kinds of
// things that were left: pidfds and inotify do not reach into another PID namespace and
// cgroup filesystems.
//
// An error means that nothing may be concluded: ctx was cancelled, containerd did not
// answer until the deadline, the scene is gone, or Scene.Client is nil
// ([inventory.ErrNoDaemon]).
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

// looker takes the wanted parts of an inventory, and has containerd collect garbage.
type looker struct {
	take    func(ctx context.Context, only ...finding.Class) (inventory.Inventory, error)
	collect func(ctx context.Context) error
}

func (look looker) settle(ctx context.Context, before inventory.Inventory, mark Marker) (
	inventory.Inventory, []finding.Finding, error) {
	pause, quiet, collected := firstPause, 0, false
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
			if quiet = nextQuiet(left, quiet); quiet == residueLooks {
				return inv, left, nil
			}
			quiet, err = look.awaitChange(ctx, before, inv, left, mark, &pause, quiet)
		}
		if err != nil && ctx.Err() == nil {
			_ = wait(ctx, pause) // containerd may be starting; or it saw the deadline pass before we do: a call carries it
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

// nextQuiet counts the looks in a row that found only known residues, and no process that
// could remove them yet.
func nextQuiet(left []finding.Finding, quiet int) int {
	if len(finding.Violations(left)) > 0 {
		return 0
	}
	return quiet + 1
}

// awaitChange looks, with growing pauses, at the classes of what violates until none of
// it is left. Where only known residues are, it looks at theirs, until they have been
// seen so often that the next look may be the last. It returns how often that was.
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
		if some.Daemon == nil && full.Daemon != nil { // its namespaces excuse their cgroups
			some.Daemon = &inventory.Daemon{Namespaces: full.Daemon.Namespaces}
		}
		still := mark(compare.Leaks(before, some))
		violates := len(finding.Violations(still)) > 0
		if quiet == 0 && violates {
			continue
		}
		if quiet == 0 || violates || len(still) == 0 { // all of it says more than a part
			return quiet, nil
		}
		quiet++
	}
}

// classesOf are the classes that must be looked at to see whether findings still hold.
func classesOf(left []finding.Finding) (want []finding.Class) {
	for _, f := range left {
		want = append(want, f.Class)
		if f.Class == finding.ClassFile { // or it would report what others report
			want = append(want, compare.Covering...)
		}
	}
	return want
}

// awaitsCollection reports whether something is left that a garbage collection removes.
func awaitsCollection(left []finding.Finding) bool {
	return slices.ContainsFunc(left, func(f finding.Finding) bool { return f.Facts[fact.Kind] == fact.ASnapshotDir })
}

// last is the inventory at the deadline, with a little time of its own.
func (look looker) last(ctx context.Context, before inventory.Inventory, mark Marker) (
	inventory.Inventory, []finding.Finding, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalLook)
	defer cancel()
	inv, err := look.take(ctx)
	if err == nil && awaitsCollection(compare.Leaks(before, inv)) {
		return look.collected(ctx, before, mark, inv)
	}
	return look.done(ctx, before, mark, inv, err)
}

// collected has containerd collect its garbage at the deadline, and looks again.
func (look looker) collected(ctx context.Context, before inventory.Inventory, mark Marker, inv inventory.Inventory) (
	inventory.Inventory, []finding.Finding, error) {
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), collection)
	defer cancel()
	failed := look.collect(bound)
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), finalLook)
	defer end()
	var err error
	if failed == nil {
		inv, err = look.take(ctx)
	}
	inv.Uncollected = callerr.Of(failed)
	return look.done(ctx, before, mark, inv, err)
}

// done is the end of the last look.
func (look looker) done(ctx context.Context, before inventory.Inventory, mark Marker, inv inventory.Inventory,
	err error) (
	inventory.Inventory, []finding.Finding, error) {
	if err == nil {
		err = look.again(ctx, before, &inv)
	}
	if err != nil {
		return inv, nil, fmt.Errorf("settle: %w", err)
	}
	return inv, mark(compare.Leaks(before, inv)), nil
}

// handleLooks is how often handles that are left at the deadline are looked at again.
const handleLooks = 4

// again looks once more at what is held, where that is left: a goroutine that serves a
// call of the look itself is about to end, and what is kept is seen each time.
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

// wait returns nil after d, or ctx's error when it ends first.
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
