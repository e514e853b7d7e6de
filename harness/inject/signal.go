package inject

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/harness"
)

// sent sends a signal to a process when the workload reaches a state. An example is
// proc:shim:running 1*kill.
type sent struct {
	in  *Injector
	i   int
	pid int // the process that got the signal
}

func newSignal(in *Injector, i int) Fault {
	if in.plan[i].At.Who == "node" {
		return &node{in, i}
	}
	return &sent{in: in, i: i}
}

// Begin sends the signal.
func (s *sent) Begin(ctx context.Context) error {
	f := s.in.plan[s.i]
	verbs := map[term.Action]string{term.Kill: "kill", term.Stop: "stop", term.Continue: "cont"}
	if (f.At.Who == "task" || f.At.Who == "sandbox") && s.in.KnownPID(f.At.Who) == 0 {
		s.in.Daemon.Release() // start containerd, because only containerd knows the pid
	}
	pid, text, err := s.in.act(ctx, verbs[f.Do.At(1).Action], f.At.Who, "")
	if err != nil {
		return err
	}
	s.pid = pid
	s.in.fired(s.i, "%s", text)
	return nil
}

// Proof returns the process that Begin found and signalled.
func (s *sent) Proof(context.Context) (harness.Firing, error) {
	f := s.in.seen(s.i)
	f.PID = s.pid
	return f, nil
}

// Undo has nothing to undo, because a stopped process ends with the world.
func (s *sent) Undo() error { return nil }

// act kills, stops or continues a process. It returns the pid of the process, and the
// evidence in words. The process is containerd, an init process ("task" or "sandbox"), or
// a shim. If container is "", it takes any shim.
func (in *Injector) act(ctx context.Context, verb, who, container string) (pid int, text string, err error) {
	if who == "containerd" {
		pid = in.Daemon.PID()
		switch verb {
		case "kill":
			err = in.Daemon.Kill(ctx)
		case "stop": // recorded before the signal, so that no call fails earlier
			in.record.Set(func(h *harness.History) { h.Stops = append(h.Stops, harness.Stop{From: time.Now()}) })
			err = in.Daemon.Freeze(ctx)
		case "cont":
			err = in.Daemon.Thaw(ctx)
			in.record.Set(func(h *harness.History) {
				if n := len(h.Stops); n > 0 {
					h.Stops[n-1].To = time.Now()
				}
			})
		default:
			return 0, "", unknownVerb(verb)
		}
		return pid, fmt.Sprintf("containerd, pid %d in its world: %s done", pid, verb), err
	}
	id, err := in.find(ctx, who, container)
	if err != nil {
		return 0, "", err
	}
	begun := time.Now()
	if err := in.send(ctx, verb, who, id); err != nil {
		return 0, "", err
	}
	return id.PID, fmt.Sprintf(
		"%s, pid %d in its world: %s done in %s",
		who,
		id.PID,
		verb,
		time.Since(begun).Round(time.Microsecond),
	), nil
}

// send sends a signal to a process, and records a kill.
func (in *Injector) send(ctx context.Context, verb, who string, id signal.Identity) error {
	sig, ok := map[string]unix.Signal{"kill": unix.SIGKILL, "stop": unix.SIGSTOP, "cont": unix.SIGCONT}[verb]
	if !ok {
		return unknownVerb(verb)
	}
	if err := in.World.Signal(ctx, id, sig); err != nil {
		return err
	}
	if verb == "kill" {
		in.record.Killed(harness.Kill{PID: id.PID, Start: id.Start, Who: who, At: time.Now()})
	}
	return nil
}

// unknownVerb returns an error for a step without a signal. Without it, the harness would
// send signal 0, which does nothing.
func unknownVerb(verb string) error { return fmt.Errorf("the step %q has no signal", verb) }

// errNoShim reports that no shim runs in the world.
var errNoShim = errors.New("there is no shim to signal: no shim runs in the world")

// find returns the process that a point or a step names.
func (in *Injector) find(ctx context.Context, who, container string) (signal.Identity, error) {
	if who == "task" || who == "sandbox" {
		pid, err := in.InitPID(ctx, who)
		if err != nil {
			return signal.Identity{}, err
		}
		return in.identify(pid)
	}
	all, err := in.Processes()
	if err != nil {
		return signal.Identity{}, err
	}
	for _, p := range all {
		if p.Serves() && (container == "" || p.Shim.ID == container || in.Shares(p.Shim.ID)) {
			return signal.Identity{PID: p.PID, Start: p.Start}, nil
		}
	}
	return signal.Identity{}, errNoShim
}

// identify returns the identity of a process: its pid and its start time.
func (in *Injector) identify(pid int) (signal.Identity, error) {
	all, err := in.Processes()
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

// shims returns the shims that run now. Without any it returns an error.
func (in *Injector) shims() ([]signal.Identity, error) {
	all, err := in.Processes()
	if err != nil {
		return nil, err
	}
	var ids []signal.Identity
	for _, p := range all {
		if p.Serves() {
			ids = append(ids, signal.Identity{PID: p.PID, Start: p.Start})
		}
	}
	if len(ids) == 0 {
		return nil, errNoShim
	}
	return ids, nil
}
