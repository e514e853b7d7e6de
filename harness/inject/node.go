package inject

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// node is a fault of the whole node:
//
//   - 1*kill simulates a power cut. All processes end, and the sockets of shims
//     are gone, because /run is a tmpfs. containerd starts again after the last fault
//     of the state.
//   - 1*reboot also removes the state that a reboot removes: mounts, cgroups and files in
//     /run.
//   - 1*stop sends SIGTERM to all shims, as systemd does at a shutdown. containerd keeps
//     running, to show its reaction.
type node struct {
	in *Injector
	i  int
}

// Begin makes the fault happen.
func (n *node) Begin(ctx context.Context) error {
	do := n.in.cutPower
	switch n.in.plan[n.i].Do.At(1).Action {
	case term.Reboot:
		do = n.in.reboot
	case term.Stop:
		do = n.in.askShims
	}
	text, err := do(ctx)
	if err != nil {
		return err
	}
	n.in.fired(n.i, "%s", text)
	return nil
}

// Proof returns the processes that Begin found and signalled.
func (n *node) Proof(context.Context) (harness.Firing, error) { return n.in.seen(n.i), nil }

// Undo has nothing to undo.
func (n *node) Undo() error { return nil }

func (in *Injector) cutPower(ctx context.Context) (string, error) {
	ended, err := in.killAll(ctx)
	if err != nil {
		return "", err
	}
	gone, err := in.removeSockets()
	return fmt.Sprintf("containerd and %d processes killed, %d sockets removed", ended, gone), err
}

func (in *Injector) reboot(ctx context.Context) (string, error) {
	ended, err := in.killAll(ctx)
	if err != nil {
		return "", err
	}
	if err := in.World.Reboot(ctx); err != nil {
		return "", err
	}
	in.record.Set(func(h *harness.History) { h.Reboots = append(h.Reboots, time.Now()) })
	return fmt.Sprintf("containerd and %d processes killed; mounts, cgroups and /run removed", ended), nil
}

// termTimeout is how long a shim may run on after SIGTERM. It takes some 10 ms. systemd
// waits 90 s.
const termTimeout = 10 * time.Second

// askShims sends SIGTERM to all shims, and records which of them exit.
func (in *Injector) askShims(ctx context.Context) (string, error) {
	all, err := in.Processes()
	if err != nil {
		return "", err
	}
	var asked []inventory.Process
	for _, p := range all {
		if !p.Serves() {
			continue
		}
		id := signal.Identity{PID: p.PID, Start: p.Start}
		if err := in.World.Signal(ctx, id, unix.SIGTERM); err != nil && !errors.Is(err, signal.ErrGone) {
			return "", err
		}
		asked = append(asked, p)
	}
	if len(asked) == 0 {
		return "", errNoShim
	}
	bounded, cancel := context.WithTimeout(ctx, termTimeout)
	defer cancel()
	ended := 0
	for _, p := range asked {
		if _, err := in.World.Exited(bounded, p.PID); err == nil {
			in.record.Killed(harness.Kill{PID: p.PID, Start: p.Start, Who: "shim", At: time.Now()})
			ended++
			continue
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		ignored := harness.IgnoredSIGTERM{PID: p.PID, ID: p.Shim.ID, Namespace: p.Shim.Namespace, For: termTimeout}
		in.record.Set(func(h *harness.History) { h.IgnoredSIGTERM = append(h.IgnoredSIGTERM, ignored) })
	}
	return fmt.Sprintf("SIGTERM sent to %d shims, %d ended within %s", len(asked), ended, termTimeout), nil
}

// rounds limits how often killAll lists the processes. It needs several rounds, because a
// process may start another one before it is killed.
const rounds = 10

// killAll kills all processes except the world's own init. It begins with containerd and
// the shims, so that they do not see how the containers end.
func (in *Injector) killAll(ctx context.Context) (int, error) {
	if err := in.Daemon.Kill(ctx); err != nil {
		return 0, err
	}
	killed := 0
	for range rounds {
		all, err := in.Processes()
		if err != nil {
			return 0, err
		}
		before := killed
		for _, shims := range []bool{true, false} {
			for _, p := range all {
				if p.Own || p.Zombie() || (p.Shim != nil) != shims {
					continue
				}
				err := in.send(ctx, "kill", in.whoIs(p), signal.Identity{PID: p.PID, Start: p.Start})
				if err != nil && !errors.Is(err, signal.ErrGone) {
					return 0, err
				}
				killed++
			}
		}
		if killed == before {
			return killed, nil
		}
	}
	return 0, fmt.Errorf("new processes still start after %d rounds of SIGKILL", rounds)
}

// whoIs returns the role of a process: shim, task, sandbox or process.
func (in *Injector) whoIs(p inventory.Process) string {
	if p.Shim != nil {
		return "shim"
	}
	for _, who := range []string{"task", "sandbox"} {
		if in.KnownPID(who) == p.PID {
			return who
		}
	}
	return "process"
}

// shimSockets is the folder of the shims' sockets, below the world's root.
const shimSockets = "run/containerd/s"

// removeSockets removes the sockets of shims.
func (in *Injector) removeSockets() (int, error) {
	root, err := foreign.OpenDir(in.World.HostPath("/"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = root.Close() }() // it was only read
	entries, err := root.List(shimSockets, maxSockets)
	for _, e := range entries {
		err = errors.Join(err, root.Remove(path.Join(shimSockets, e.Name())))
	}
	return len(entries), err
}

// maxSockets is more than a world's shims have.
const maxSockets = 1 << 10
