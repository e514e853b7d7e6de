package runner

import (
	"context"
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/callerr"
)

// reuseTimeout is how long each call of the last look at liveness may take. On a busy
// machine one can take seconds.
const reuseTimeout = 10 * time.Second

// restartBound is how long a containerd with nothing to load may take until it answers.
// It takes 30 to 60 ms; each shim that does not answer costs it 5 s (shim.load of
// [timeouts]).
const restartBound = 10 * time.Second

// useAgain uses the first id once more, after a restart of containerd where the case asks
// for it, and looks at what that leaves. Without a fault little can be in the way of the
// id, and only a reference run or a thorough one tries it; and what the client did not
// get rid of surely is.
func (x *run) useAgain() error {
	h := x.history()
	if h.After.Inventory == nil || h.Removal != nil ||
		x.Faultless() && !x.usesAgain && !x.Workload.Thorough {
		return nil
	}
	if !x.restart() {
		return nil
	}
	x.session.CallTimeout = max(x.session.CallTimeout, reuseTimeout) // a client's own impatience is part of the workload
	r := harness.Reuse{Brief: x.brief()}
	use, err := x.client.Reuse(x.ctx, r.Brief)
	r.Use = use
	if r.Err = callerr.Of(err); r.Err == nil {
		l := x.lookAt(*h.After.Inventory)
		r.After = &l
	}
	x.record.Set(func(h *harness.History) { h.Reuse = &r })
	return nil
}

// restart restarts containerd where the case asks for it and no crash has done so
// already.
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
	x.record.Failed("oracle", "containerd restarted", err)
	x.record.Set(func(h *harness.History) { h.Restart = &r })
	return err == nil
}

// brief reports whether less than a lifecycle will do: the runner is brief, the look has
// found no violation, and it is a pod, or containerd has been started since the last
// fault, so that nothing of a fault is left in its memory.
func (x *run) brief() bool {
	h := x.history()
	if x.usesAgain || !x.runner.Brief || x.Workload.Thorough ||
		len(x.found.Violations()) > 0 {
		return false
	}
	if x.Workload.API == harness.CRI {
		return true
	}
	if len(h.Deaths) == 0 || !x.OnlyProbed() {
		return false
	}
	booted := h.Deaths[len(h.Deaths)-1].At
	return !slices.ContainsFunc(
		h.Hits,
		func(h failpoints.Hit) bool { return h.Fault >= 0 && h.Time.Add(h.Held).After(booted) },
	)
}
