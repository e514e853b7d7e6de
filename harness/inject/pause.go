package inject

import (
	"context"
	"errors"
	"time"

	"github.com/shimquake/shimquake/failpoints"
)

// onPause runs the steps of a fault while the controller pauses a process at the fault's
// point. The controller calls it.
func (in *Injector) onPause(p failpoints.Pause) {
	defer p.Release()
	in.record.Note("harness", "%s (pid %d) is paused at %s", p.Hit.Who, p.Hit.PID, p.Fault.At)
	cancel, done := in.InFlight()
	down := false
	for _, s := range p.Fault.Meanwhile {
		if err := in.step(in.ctx, s, p, cancel, done); err != nil {
			in.failed(s, err)
		}
		switch {
		case s.Who != "containerd": // other steps do not change whether containerd is down
		case s.Verb == "kill":
			down = true
		case s.Verb == "start":
			down = false
		}
		in.record.Note("harness", "step %s done", s)
	}
	if down {
		in.Daemon.Release()
	}
}

func (in *Injector) step(
	ctx context.Context,
	s failpoints.Step,
	p failpoints.Pause,
	cancel func(),
	done <-chan struct{},
) error {
	switch s.Verb {
	case "release":
		p.Release()
		return nil
	case "sleep":
		t := time.NewTimer(s.For)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		return nil
	case "start":
		in.Daemon.Release()
		if _, _, err := in.Daemon.Connect(ctx); err != nil { // not a failed step: the judge reports it
			in.record.Failed("harness", "containerd was started, but does not respond", err)
		}
		return nil
	case "ask": // the judge checks the response
		return in.AskWhilePaused(ctx, p.Fault.At.String())
	case "cancel", "await":
		return in.client(ctx, s, cancel, done)
	}
	if p.Hit.Who == s.Who && s.Who == "shim" { // the paused shim itself
		id, err := in.identify(p.Hit.PID)
		if err != nil {
			return err
		}
		return in.send(ctx, s.Verb, s.Who, id)
	}
	_, _, err := in.act(ctx, s.Verb, s.Who, p.Hit.ID)
	return err
}

// client cancels the client's call in flight, or waits until that call, the removal or
// the payload has ended.
func (in *Injector) client(ctx context.Context, s failpoints.Step, cancel func(), done <-chan struct{}) error {
	switch {
	case s.Who == "exit":
		return in.Exited(ctx)
	case s.Who == "removal":
		done = in.Removed
	case done == nil:
		return errors.New("the client has no call in flight")
	case s.Verb == "cancel":
		cancel()
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
