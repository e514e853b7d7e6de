package harness

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/oracle"
)

// busyBound is how long settle waits in all, past the workload's own time, for a containerd that is still calling a shim: to clean up it takes 5 s each
// for Delete and Shutdown, one after the other, and 3 s more in its own Delete (shim.cleanup and shim.shutdown of [timeouts]).
const busyBound = 13 * time.Second

// settle waits for what is still going on, and names what is left. A leak is one when nobody is about to remove it: while containerd waits for a shim's
// answer it may still tidy up behind it.
func (x *experiment) settle(ctx context.Context, s oracle.Scene, before oracle.Inventory) (oracle.Inventory, []oracle.Finding, error) {
	limit := time.Now().Add(x.Workload.Settle + busyBound)
	for {
		inv, left, err := x.settleOnce(ctx, s, before)
		if err != nil {
			return inv, nil, err
		}
		x.controller.Flush(hitPatience)
		busy := calling(x.controller.Hits(), x.daemon.Deaths())
		if len(oracle.Violations(left)) == 0 || busy == "" || time.Now().After(limit) {
			return inv, append(left, oracle.Absent(left, x.circumstances())...), nil
		}
		x.timeline.note("oracle", "%d things are left; containerd is still at %s", len(left), busy)
	}
}

func (x *experiment) settleOnce(ctx context.Context, s oracle.Scene, before oracle.Inventory) (inv oracle.Inventory, left []oracle.Finding, err error) {
	ctx, cancel := context.WithTimeout(ctx, x.Workload.Settle)
	defer cancel()
	x.runner.yield(func() { inv, left, err = oracle.Settle(ctx, s, before, x.circumstances()) })
	return inv, left, err
}

// calling is a call to a shim that a living containerd has begun and not ended, or "". A Wait says nothing: it lasts as long as the task.
func calling(hits []failpoints.Hit, deaths []daemon.Death) string {
	type call struct {
		pid      int
		what, id string
	}
	open := map[call]int{}
	var order []call
	for _, h := range hits {
		what, entry := strings.CutSuffix(h.Point, ":entry")
		if !entry {
			var exit bool
			if what, exit = strings.CutSuffix(h.Point, ":exit"); !exit {
				continue
			}
		}
		if !strings.HasPrefix(what, "rpc:containerd:Task.") || strings.HasSuffix(what, ".Wait") {
			continue
		}
		c := call{h.PID, what, h.ID}
		if entry {
			open[c]++
			order = append(order, c)
		} else {
			open[c]--
		}
	}
	for _, c := range order {
		if open[c] > 0 && !slices.ContainsFunc(deaths, func(d daemon.Death) bool { return d.PID == c.pid }) {
			return strings.TrimPrefix(c.what, "rpc:containerd:") + " of " + c.id
		}
	}
	return ""
}
