package runner

import (
	"context"
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
)

// reuseTimeout is the smallest call timeout for the second use of the first id. The
// workload may have a shorter one, but on a busy machine a call can take seconds.
const reuseTimeout = 10 * time.Second

// restartBound is how long a restarted containerd may take to respond. Without shims it
// takes 30 to 60 ms. Each shim that does not respond adds 5 s (shim.load in [timeouts]).
const restartBound = 10 * time.Second

// useAgain uses the first id once more, and takes an inventory afterwards. It does
// nothing if the client could not remove everything, because the id is blocked then. In a
// case without faults, only a reference run or a thorough case does it.
func (x *run) useAgain() error {
	h := x.history()
	if h.After.Inventory == nil || h.Removal != nil ||
		x.Faultless() && !x.usesAgain && !x.Workload.Thorough {
		return nil
	}
	if !x.restart() {
		return nil
	}
	x.session.CallTimeout = max(x.session.CallTimeout, reuseTimeout) // a short timeout is for the workload only
	r := harness.Reuse{Brief: x.brief()}
	use, err := x.client.Reuse(x.ctx, r.Brief)
	r.Use = use
	if r.Err = callerr.Of(err); r.Err == nil {
		l := x.inspectNode(*h.After.Inventory)
		r.After = &l
	}
	x.record.Set(func(h *harness.History) { h.Reuse = &r })
	return nil
}

// restart restarts containerd if the case needs it, except if containerd was already
// restarted after a crash. It reports whether containerd responds.
func (x *run) restart() bool {
	if x.Workload.NoRestart || (x.Workload.API != harness.CRI && !x.Workload.Thorough) || len(x.daemon.Deaths()) > 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(x.ctx, restartBound)
	defer cancel()
	begun := time.Now()
	err := x.daemon.Kill(ctx)
	if err == nil {
		x.daemon.Release()
		_, _, err = x.up(ctx)
	}
	r := harness.Restart{Took: time.Since(begun), Bound: restartBound, Err: callerr.Of(err)}
	x.record.Failed("oracle", "restarts containerd", err)
	x.record.Set(func(h *harness.History) { h.Restart = &r })
	return err == nil
}

// brief reports whether a part of a lifecycle is enough for the second use. It returns
// false after a violation, or if Runner.Brief is not set. Otherwise it returns true for a
// pod. For a task it returns true if containerd was started after the last fault, because
// its memory then has no trace of the fault.
func (x *run) brief() bool {
	h := x.history()
	if x.usesAgain || !x.runner.Brief || x.Workload.Thorough ||
		len(x.found.Violations()) > 0 {
		return false
	}
	if x.Workload.API == harness.CRI {
		return true
	}
	if len(h.Deaths) == 0 || !x.OnlyProbeFaults() {
		return false
	}
	booted := h.Deaths[len(h.Deaths)-1].At
	return !slices.ContainsFunc(
		h.Hits,
		func(h failpoints.Hit) bool { return h.Fault >= 0 && h.Time.Add(h.Held).After(booted) },
	)
}
