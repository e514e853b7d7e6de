package audit_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shimquake/shimquake/audit"
)

var (
	churnFor = flag.Duration("churn", 5*time.Second, "how long TestChurn makes and removes containers (make audit-long)")
	shimMany = flag.Int("shims", 60, "how many shims TestManyShims has (make audit-long)")
)

// perSecond is the number of containers that come and go in a second.
const perSecond = 10

// A node in motion is not a leak: containers come and go, and /proc changes while it is
// read.
func TestChurn(t *testing.T) {
	n := newNode(t)
	ctx, stop := context.WithCancel(n.ctx)
	defer stop()
	var made atomic.Int64
	group, _ := errgroup.WithContext(ctx)
	ids := make(chan string, 2*perSecond) // they come again, as a job's do
	for i := range cap(ids) {
		ids <- fmt.Sprintf("c%d", i)
	}
	group.Go(func() error {
		tick := time.NewTicker(time.Second / perSecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
			select {
			case id := <-ids:
				group.Go(func() error {
					defer func() { ids <- id }()
					task, err := n.start(id, "wait", "")
					if err == nil {
						err = n.end(task)
					}
					made.Add(1)
					return err
				})
			default: // the machine is slower than that
			}
		}
	})
	// On a busy machine containerd may not respond in time, and the audit reports that. At
	// least one audit must be complete.
	audits := 0
	for began := time.Now(); time.Since(began) < *churnFor || audits == 0; {
		r, err := audit.Run(n.ctx, audit.Options{PID: n.world.InitPID(), Settle: time.Second})
		n.must(err)
		if len(r.Suspects) != 0 {
			t.Errorf("after %d audits: %v", audits, r)
		}
		if len(r.Partial) == 0 {
			audits++
		}
	}
	stop()
	n.must(group.Wait())
	t.Logf("%d containers came and went, %d audits", made.Load(), audits)
	if made.Load() < int64(churnFor.Seconds()) || audits == 0 {
		t.Error("that was no churn")
	}
	if r := n.audit(); len(r.Suspects) != 0 {
		t.Errorf("afterwards: %v", r)
	}
}

// Many shims are no suspects. With -shims 1000 the time of an audit must also grow no
// faster than their number, and stay below a second (`make audit-long`, on an idle
// machine).
func TestManyShims(t *testing.T) {
	n := newNode(t)
	n.unlimit()
	few := max(*shimMany/4, 1)
	n.runMany(0, few)
	first := n.fastest()
	n.runMany(few, *shimMany)
	all := n.fastest()
	t.Logf("%d shims: %s; %d shims: %s", few, first, *shimMany, all)
	if *shimMany < 1000 {
		return
	}
	// Four times the shims may take four times as long, and half of that for noise.
	if all > 6*max(first, 20*time.Millisecond) {
		t.Errorf("%d shims take %s, %d take %s", few, first, *shimMany, all)
	}
	if bound := time.Second; all > bound && *shimMany <= 1000 {
		t.Errorf("%d shims take %s, more than %s", *shimMany, all, bound)
	}
}

func (n *node) runMany(from, to int) {
	n.Helper()
	var group errgroup.Group
	group.SetLimit(4)
	for i := from; i < to; i++ {
		group.Go(func() error {
			_, err := n.start(fmt.Sprintf("c%d", i), "wait", "")
			return err
		})
	}
	n.must(group.Wait())
}

// fastest of a few audits, in which nothing is suspect.
func (n *node) fastest() time.Duration {
	n.Helper()
	best := time.Hour
	for range 5 {
		begun := time.Now()
		r := n.audit()
		best = min(best, time.Since(begun))
		if len(r.Suspects) != 0 || len(r.Partial) != 0 {
			n.Errorf("%v", r)
		}
	}
	return best
}

// The function removes the world's limits of memory and threads, because a thousand
// shims are more than a case ever has.
func (n *node) unlimit() {
	for _, dir := range n.world.CgroupDirs() {
		for _, at := range []struct{ file, most string }{
			{"memory.limit_in_bytes", "-1"}, {"memory.max", "max"}, {"pids.max", "max"},
		} {
			for _, name := range []string{at.file, "init/" + at.file} {
				file := filepath.Join(dir, name)
				if _, err := os.Stat(file); err == nil {
					n.must(os.WriteFile(file, []byte(at.most), 0))
				}
			}
		}
	}
}
