package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/oracle"
)

// injector makes the plan's faults happen and keeps the proof of each. Points of kind rpc are decided by the controller; the others happen
// when the workload reaches their state.
type injector struct {
	x *experiment

	mu     sync.Mutex
	proofs []proof                  // one for each fault of the plan
	errs   []error                  // what kept a fault from happening
	killed map[signal.Identity]bool // by the harness
	shims  map[signal.Identity]bool // those of them that are shims
	// proving are proofs that are taken when the workload is done.
	proving []func() error
	undo    []func() error
}

type proof struct {
	count   int
	text    string
	inForce bool // it may happen from now on; whether it has is known later
}

func newInjector(x *experiment) *injector {
	return &injector{x: x, proofs: make([]proof, len(x.Plan)), killed: map[signal.Identity]bool{}, shims: map[signal.Identity]bool{}}
}

// fired notes that the i-th fault happened.
func (in *injector) fired(i int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	in.x.timeline.note("harness", "%s: %s", in.x.Plan[i], text)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.proofs[i].count++
	in.proofs[i].text = text
}

// anyFired says whether any fault has happened yet.
func (in *injector) anyFired() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	for i, p := range in.proofs {
		if p.count > 0 || p.inForce || in.x.controller.Fired(i) > 0 {
			return true
		}
	}
	return in.x.anyMisbehaved()
}

func (in *injector) failed(what fmt.Stringer, err error) {
	in.x.timeline.add(Entry{At: time.Now(), Who: "harness", What: what.String(), Err: err.Error()})
	in.mu.Lock()
	defer in.mu.Unlock()
	in.errs = append(in.errs, fmt.Errorf("%s: %w", what, err))
}

// at makes the faults of a state happen, in the order of the plan. It returns when they have. A containerd that is killed stays down until the last
// of them, so that a plan which kills containerd and then the shim has the shim die while containerd is down.
func (in *injector) at(ctx context.Context, state string) {
	in.x.timeline.note("client", "state %s", state)
	down := false
	for i, f := range in.x.Plan {
		var err error
		switch {
		case f.At.Kind == failpoints.Proc && f.At.What == state:
			err = in.signal(ctx, i, f)
			down = down || f.At.Who == "containerd" && f.Do.At(1).Action == term.Kill
		case f.At.Kind == failpoints.IO && f.At.What == state:
			err = in.press(ctx, i, f)
		case f.At.Kind == failpoints.Sys && f.At.Where == state:
			err = in.slow(ctx, i, f)
		}
		if err != nil {
			in.failed(f, err)
		}
	}
	if down {
		in.x.daemon.Release()
	}
}

// signal sends a proc fault's signal.
func (in *injector) signal(ctx context.Context, i int, f failpoints.Fault) error {
	verbs := map[term.Action]string{term.Kill: "kill", term.Stop: "stop", term.Cont: "cont"}
	action := f.Do.At(1).Action
	if (f.At.Who == "task" || f.At.Who == "sandbox") && in.x.client.knownPID(f.At.Who) == 0 {
		in.x.daemon.Release() // only containerd can tell the pid
	}
	text, err := in.act(ctx, verbs[action], f.At.Who, "")
	if err != nil {
		return err
	}
	in.fired(i, "%s", text)
	return nil
}

// act kills, stops or continues a process of the world: the shim of a container (by default of the first), containerd, the sandbox's or a
// container's init. It returns, in words, what is known to have happened.
func (in *injector) act(ctx context.Context, verb, who, container string) (string, error) {
	if who == "containerd" {
		pid := in.x.daemon.PID()
		err := map[string]func(context.Context) error{"kill": in.x.daemon.Kill, "stop": in.x.daemon.Stop, "cont": in.x.daemon.Cont}[verb](ctx)
		return fmt.Sprintf("containerd, pid %d in its world: %s done", pid, verb), err
	}
	id, err := in.find(who, container)
	if err != nil {
		return "", err
	}
	begun := time.Now()
	if err := in.send(ctx, verb, who, id); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, pid %d in its world: %s done in %s", who, id.PID, verb, time.Since(begun).Round(time.Microsecond)), nil
}

// find names the process that a point means.
func (in *injector) find(who, container string) (signal.Identity, error) {
	if who == "task" || who == "sandbox" {
		pid, err := in.x.client.initPID(who)
		if err != nil {
			return signal.Identity{}, err
		}
		return in.identify(pid)
	}
	all, err := oracle.Processes(in.x.scene())
	if err != nil {
		return signal.Identity{}, err
	}
	for _, p := range all {
		if p.Shim == nil || p.Shim.Action != "" || p.Zombie() || (container != "" && p.Shim.ID != container && !in.x.client.shares(p.Shim.ID)) {
			continue
		}
		return signal.Identity{PID: p.PID, Start: p.Start}, nil
	}
	return signal.Identity{}, errors.New("there is no such process: no shim serves in the world")
}

// identify finds the start time of a pid of the world.
func (in *injector) identify(pid int) (signal.Identity, error) {
	all, err := oracle.Processes(in.x.scene())
	if err != nil {
		return signal.Identity{}, err
	}
	for _, p := range all {
		if p.PID == pid {
			return signal.Identity{PID: pid, Start: p.Start}, nil
		}
	}
	return signal.Identity{}, fmt.Errorf("pid %d of the world: %w", pid, signal.ErrGone)
}

// onPause takes a fault's steps while a process waits at its point. It is called by the controller.
func (in *injector) onPause(p failpoints.Pause) {
	defer p.Release()
	in.x.timeline.note("harness", "%s (pid %d) is paused at %s", p.Hit.Who, p.Hit.PID, p.Fault.At)
	flight := in.x.caller.inFlight()
	ctx := in.x.ctx
	down := false
	for _, s := range p.Fault.While {
		if err := in.step(ctx, s, p, flight); err != nil {
			in.failed(s, err)
		}
		down = s.Who == "containerd" && (s.Verb == "kill" || down && s.Verb != "start")
		in.x.timeline.note("harness", "step %s done", s)
	}
	if down {
		in.x.daemon.Release()
	}
}

func (in *injector) step(ctx context.Context, s failpoints.Step, p failpoints.Pause, flight *flight) error {
	switch s.Verb {
	case "release":
		p.Release()
	case "wait":
		t := time.NewTimer(s.For)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	case "start":
		in.x.daemon.Release()
		if _, _, err := in.x.daemon.Up(ctx); err != nil { // the oracle's to judge, and not a step that was not taken
			in.x.timeline.note("harness", "containerd was started and does not answer: %v", err)
		}
	case "cancel", "await":
		if s.Who == "removal" {
			select {
			case <-in.x.removed:
			case <-ctx.Done():
			}
			return ctx.Err()
		}
		if flight == nil {
			return errors.New("the client has no call in flight")
		}
		if s.Verb == "cancel" {
			flight.cancel()
			return nil
		}
		select {
		case <-flight.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	default:
		if p.Hit.Who == s.Who && s.Who == "shim" { // the very one that waits
			id, err := in.identify(p.Hit.PID)
			if err != nil {
				return err
			}
			return in.send(ctx, s.Verb, s.Who, id)
		}
		_, err := in.act(ctx, s.Verb, s.Who, p.Hit.ID)
		return err
	}
	return nil
}

// send signals a process of the world, and remembers whom it killed.
func (in *injector) send(ctx context.Context, verb, who string, id signal.Identity) error {
	sig := map[string]unix.Signal{"kill": unix.SIGKILL, "stop": unix.SIGSTOP, "cont": unix.SIGCONT}[verb]
	if err := in.x.world.Signal(ctx, id, sig); err != nil {
		return err
	}
	if verb == "kill" {
		in.mu.Lock()
		in.killed[id] = true
		in.shims[id] = who == "shim"
		in.mu.Unlock()
	}
	return nil
}

// clean undoes what outlives the case's faults: the throttle of a device, a strace.
func (in *injector) clean() error {
	var errs []error
	for _, f := range in.undo {
		errs = append(errs, f())
	}
	in.undo = nil
	return errors.Join(errs...)
}
