package settle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shimquake/shimquake/catalogue/bugs"
	"github.com/shimquake/shimquake/must"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/oracle/residue"
)

// waiter takes inventories of a world (a throw-away node) without a containerd. Wait
// does the same with a containerd.
func (w *miniWorld) waiter(before inventory.Inventory, mark Marker) waiter {
	return waiter{before, mark, func(ctx context.Context, only ...finding.Class) (inventory.Inventory, error) {
		return inventory.Take(ctx, w.scene, only...)
	}, nil}
}

// marker marks the residues of the catalogue.
func marker(t *testing.T, c residue.Circumstances) Marker {
	t.Helper()
	known := loaded(t)
	return func(all []finding.Finding) []finding.Finding { return residue.Mark(known, all, c) }
}

func unmarked(all []finding.Finding) []finding.Finding { return all }

// loaded returns the residues of the catalogue.
func loaded(t *testing.T) []residue.Known {
	t.Helper()
	return must.Get(residue.Load(bugs.Files))(t)
}

func TestSettle(t *testing.T) {
	killed := residue.Circumstances{Releases: []string{"v2.4.2"}, Happened: []string{residue.ShimKilled}}
	const never = time.Minute
	for _, test := range []struct {
		name     string
		plant    func(*miniWorld)
		c        residue.Circumstances
		deadline time.Duration // of Wait
		most     time.Duration // the longest duration
		left     int
		known    int // of the leftovers
	}{
		{"nothing is left", func(*miniWorld) {}, killed, never, time.Second, 0, 0},
		{"a process ends", func(w *miniWorld) { w.start(order{Argv: []string{"sleep", "0.1"}}) }, killed, never,
			5 * time.Second, 0, 0},
		{"a process stays", func(w *miniWorld) { w.start(order{Argv: []string{"sleep", "1000"}}) }, killed,
			100 * time.Millisecond, 5 * time.Second, 1, 0},
		{"a known residue", func(w *miniWorld) { w.mkdir("/run/containerd/s"); deadSocket(w, "/run/containerd/s/ab") },
			killed, never, 5 * time.Second, 1, 1},
		{"the same, not known", func(w *miniWorld) { w.mkdir("/run/containerd/s"); deadSocket(w, "/run/containerd/s/ab") },
			residue.Circumstances{Releases: []string{"v2.4.2"}}, 100 * time.Millisecond, 5 * time.Second, 1, 0},
		{"a known residue and a process that stays", func(w *miniWorld) {
			w.mkdir("/run/containerd/s")
			deadSocket(w, "/run/containerd/s/ab")
			w.start(order{Argv: []string{"sleep", "1000"}})
		}, killed, 100 * time.Millisecond, 5 * time.Second, 2, 1},
		{"a listener dies and leaves a residue", func(w *miniWorld) {
			w.start(order{Argv: []string{"sleep", "0.1"}})
			w.mkdir("/run/containerd/s")
			dieSoon(w, "/run/containerd/s/ab")
		}, killed, never, 5 * time.Second, 1, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			before := w.take()
			test.plant(w)
			ctx := must.Within(t, test.deadline)
			begun := time.Now()
			_, left, err := w.waiter(before, marker(t, test.c)).wait(ctx)
			took := time.Since(begun)
			must.Succeed(t, err)
			if known := len(left) - len(finding.Violations(left)); len(left) != test.left || known != test.known ||
				took > test.most {
				t.Errorf("after %s %d are left, %d of them known: %v; want %d and %d within %s",
					took, len(left), known, left, test.left, test.known, test.most)
			}
		})
	}
}

// dieSoon leaves a socket whose listener in the world soon ends.
func dieSoon(w *miniWorld, name string) {
	w.t.Helper()
	pid := w.role("listener", []string{"LISTEN=" + name})
	w.until("somebody listens", func(inv inventory.Inventory) bool {
		return len(inv.Sockets) == 1 &&
			inv.Sockets[0].Listening
	})
	w.start(order{Argv: []string{"sh", "-c", fmt.Sprintf("sleep 0.5; kill -KILL %d", pid)}})
}

// If nothing is left, settle takes one inventory.
func TestSettleLooksOnce(t *testing.T) {
	looks := 0
	clean := waiter{mark: unmarked, take: func(context.Context, ...finding.Class) (inventory.Inventory, error) {
		looks++
		return inventory.Inventory{}, nil
	}}
	if _, left, err := clean.wait(t.Context()); err != nil || len(left) != 0 ||
		looks != 1 {
		t.Errorf("%d looks, %v, %v", looks, left, err)
	}
}

// While only known residues are left, each inventory is complete, so it finds new leaks.
func TestSettleLooksAtResidues(t *testing.T) {
	remains := inventory.Inventory{Sockets: []inventory.Socket{{Path: "/run/containerd/s/ab"}}}
	beside := remains
	beside.Processes = []inventory.Process{{PID: 7, Comm: "sleep", State: "S"}}
	for _, test := range []struct {
		name        string
		last        inventory.Inventory // the third and later ones
		looks       int
		left, known int
	}{
		{"it stays", remains, 3, 1, 1},
		{"it goes", inventory.Inventory{}, 3, 0, 0},
		{"a process has come", beside, 4, 2, 1}, // until the deadline
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			killed := residue.Circumstances{Releases: []string{"v2.4.2"}, Happened: []string{residue.ShimKilled}}
			looks, parts := 0, 0
			w := waiter{mark: marker(t, killed), take: func(_ context.Context, only ...finding.Class) (
				inventory.Inventory, error) {
				looks++
				if len(only) > 0 {
					parts++
				}
				if looks < 3 {
					return remains, nil
				}
				return test.last, nil
			}}
			_, left, err := w.wait(ctx)
			known := len(left) - len(finding.Violations(left))
			if err != nil || len(left) != test.left || known != test.known || looks < test.looks {
				t.Errorf("%d looks left %v, %v", looks, left, err)
			}
			if test.known == test.left && (looks != test.looks || parts > 0) {
				t.Errorf("%d looks, %d of them at a part; want %d at all", looks, parts, test.looks)
			}
		})
	}
}

// A leftover that a garbage collection may remove causes one collection, at once and at
// the deadline. If it stays, it is a leak.
func TestSettleCollects(t *testing.T) {
	dir := inventory.Inventory{
		Files: []inventory.File{{Path: "/w/root/io.containerd.snapshotter.v1.overlayfs/snapshots/7",
			Kind: fact.ADirectory}},
		Places: inventory.Places{Root: "/w/root", State: "/run/containerd"},
	}
	for _, test := range []struct {
		name      string
		heals     int // the collection that removes it; 0: none
		fails     error
		left      int
		collected int
	}{{"the first", 1, nil, 0, 1}, {"the last", 2, nil, 0, 2}, {"none", 0, nil, 1, 2},
		{"one that fails", 0, context.DeadlineExceeded, 1, 2}} {
		t.Run(test.name, func(t *testing.T) {
			collected := 0
			w := waiter{
				mark: unmarked,
				take: func(context.Context, ...finding.Class) (inventory.Inventory, error) {
					if test.heals > 0 && collected >= test.heals {
						return inventory.Inventory{}, nil
					}
					return dir, nil
				},
				collect: func(context.Context) error { collected++; return test.fails },
			}
			ctx := must.Within(t, 50*time.Millisecond)
			inv, left, err := w.wait(ctx)
			if err != nil || len(left) != test.left || collected != test.collected ||
				inv.Uncollected != nil != (test.fails != nil) {
				t.Errorf("%d collections left %v, %v, %v", collected, left, inv.Uncollected, err)
			}
		})
	}
}

// A goroutine that ends soon after the deadline is not a leak. A goroutine that stays is
// a leak.
func TestSettleLooksAgainAtHandles(t *testing.T) {
	with := func(count int) inventory.Inventory {
		h := inventory.Handles{PID: 7, Held: []inventory.Held{{Kind: fact.AGoroutine, Of: "serveStreams",
			Root: "serveStreams", Count: count}}}
		return inventory.Inventory{Handles: []inventory.Handles{h},
			Sockets: []inventory.Socket{{Path: "/run/containerd/s/ab"}}}
	}
	before := with(1)
	before.Sockets = nil
	for _, test := range []struct {
		name  string
		stays int // how many inventories after the deadline have it
		left  int // the leftovers, with the socket
	}{{"gone in the next", 0, 1}, {"gone later", 2, 1}, {"it stays", 99, 2}} {
		t.Run(test.name, func(t *testing.T) {
			ctx := must.Within(t, 20*time.Millisecond)
			again := 0
			w := waiter{before: before, mark: unmarked, take: func(_ context.Context, want ...finding.Class) (
				inventory.Inventory, error) {
				if slices.Equal(want, []finding.Class{finding.ClassHandle}) {
					if again++; again > test.stays {
						return with(1), nil
					}
				}
				return with(2), nil
			}}
			if _, left, err := w.wait(ctx); err != nil || len(left) != test.left {
				t.Errorf("%d looks again left %v, %v", again, left, err)
			}
		})
	}
}

func TestSettleDoesNotGuess(t *testing.T) {
	w := newWorld(t)
	before := w.take()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.start(order{Argv: []string{"sleep", "1000"}})
	if _, _, err := w.waiter(before, unmarked).wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, _, err := Wait(t.Context(), w.scene, before, unmarked); !errors.Is(err, inventory.ErrNoDaemon) {
		t.Errorf("without containerd: %v", err)
	}
	broken := errors.New("it does not answer")
	silent := waiter{before: before, mark: unmarked, take: func(context.Context, ...finding.Class) (
		inventory.Inventory, error) {
		return inventory.Inventory{}, broken
	}}
	short := must.Within(t, 50*time.Millisecond)
	if _, _, err := silent.wait(short); !errors.Is(err, broken) {
		t.Errorf("containerd does not answer: %v", err)
	}
}
