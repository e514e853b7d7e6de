package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/oracle"
)

// againTimeout is how long each call of the last look at liveness may take. On a busy machine one can take seconds.
const againTimeout = 10 * time.Second

// judgeAgain uses the id once more, and looks whether that leaves nothing either.
func (x *experiment) judgeAgain(ctx context.Context, v *Verdict, before oracle.Inventory) error {
	x.caller.timeout = max(x.caller.timeout, againTimeout) // a client's own impatience is part of the workload, not of this look
	use := x.client.again
	if len(v.Violations()) == 0 && x.brief() {
		use = x.client.againBriefly
	}
	if err := use(ctx); err != nil {
		v.Findings = append(v.Findings, oracle.Finding{
			Invariant: oracle.Liveness, Class: oracle.ClassContainer, Facts: oracle.Failure(oracle.IDReuse, err),
		})
		return nil
	}
	scene, err := x.sceneUp(ctx)
	if err != nil {
		return err
	}
	_, left, err := x.settle(ctx, scene, before)
	if err != nil {
		return err
	}
	v.Findings = append(v.Findings, slices.DeleteFunc(left, func(f oracle.Finding) bool { return f.Invariant == oracle.Residue })...)
	return nil
}

// brief says whether less than a lifecycle will do: the runner is brief, and it is a pod, or containerd has been started since the last fault, so that
// nothing of a fault is left in its memory.
func (x *experiment) brief() bool {
	deaths := x.daemon.Deaths()
	if !x.runner.Brief || x.Workload.Thorough {
		return false
	}
	if x.Workload.API == CRI {
		return true
	}
	if len(deaths) == 0 {
		return false
	}
	for _, f := range x.Plan {
		if !f.At.Kind.Probed() {
			return false
		}
	}
	booted := deaths[len(deaths)-1].At
	return !slices.ContainsFunc(x.controller.Hits(), func(h failpoints.Hit) bool { return h.Fault >= 0 && h.Time.Add(h.Held).After(booted) })
}

// toldAgain judges the exit of a container that was to end with 0 and without a fault.
func toldAgain(k *container) error {
	if !k.told {
		return errors.New("its exit was never told")
	}
	if k.status != k.spec.want() {
		return fmt.Errorf("it ends with %d, and %d was told", k.spec.want(), k.status)
	}
	return nil
}
