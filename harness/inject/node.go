package inject

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// node is what becomes of a whole node. proc:node:exited 1*kill cuts its power: all
// processes end, and the sockets of shims, which are on a tmpfs, are gone; containerd
// starts again when the last fault of the state has happened. 1*reboot does that, and
// undoes all that no node keeps: mounts, cgroups, and what is in /run. 1*stop asks all
// shims to end, as the SIGTERM does that systemd sends at a shutdown to whatever is left;
// containerd stays, to show what it makes of that.
type node struct {
	in *Injector
	i  int
}

// Begin does it.
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

// Proof is that those were found, and signalled.
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
	return fmt.Sprintf("containerd and %d processes killed, mounts, cgroups and /run are gone", ended), nil
}

// heeds is how long a shim may take to end when it is asked to. It takes some 10 ms;
// systemd waits 90 s.
const heeds = 10 * time.Second

// askShims sends SIGTERM to all shims, and notes which of them that ends.
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
	patience, cancel := context.WithTimeout(ctx, heeds)
	defer cancel()
	ended := 0
	for _, p := range asked {
		if _, err := in.World.Exited(patience, p.PID); err == nil {
			in.record.Killed(harness.Kill{PID: p.PID, Start: p.Start, Who: "shim", At: time.Now()})
			ended++
			continue
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		in.record.Unheeded(harness.Unheeded{PID: p.PID, ID: p.Shim.ID, Namespace: p.Shim.Namespace, For: heeds})
	}
	return fmt.Sprintf("%d shims asked to end, %d ended within %s", len(asked), ended, heeds), nil
}

// rounds is how often what runs is killed until nothing does: a process may have been
// about to start another.
const rounds = 10

// killAll kills all that runs besides the world's own, containerd and then shims first:
// none must live to note how a container has ended.
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
	return 0, fmt.Errorf("after %d rounds of SIGKILL processes are still started", rounds)
}

// whoIs is the name by which plans and the judge know a process.
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

// shimSockets is where containerd has the sockets of shims, in a world.
const shimSockets = "run/containerd/s"

// removeSockets leaves the world's own root at no link: what is removed is the world's.
func (in *Injector) removeSockets() (int, error) {
	root, err := os.OpenRoot(in.World.Inside("/"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = root.Close() }() // nothing is written by it
	entries, err := fs.ReadDir(root.FS(), shimSockets)
	for _, e := range entries {
		err = errors.Join(err, root.Remove(path.Join(shimSockets, e.Name())))
	}
	return len(entries), err
}
