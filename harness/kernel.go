package harness

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/iopressure"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/failpoints/signal"
	"github.com/shimquake/shimquake/failpoints/slowsys"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/oracle"
)

// noticeable is how long an umount2 must have taken at least to count as slow. An unhindered one takes some 20 ms here.
const noticeable = time.Second

// shims are the shims that serve in the world now.
func (in *injector) shimsNow() ([]signal.Identity, error) {
	all, err := oracle.Processes(in.x.scene())
	if err != nil {
		return nil, err
	}
	var ids []signal.Identity
	for _, p := range all {
		if p.Shim != nil && p.Shim.Action == "" && !p.Zombie() {
			ids = append(ids, signal.Identity{PID: p.PID, Start: p.Start})
		}
	}
	if len(ids) == 0 {
		return nil, errors.New("there is no such process: no shim serves in the world")
	}
	return ids, nil
}

// press throttles the disk of containerd's root, lets a neighbour dirty it, and watches how long the shims' umount2 takes from now on.
// The proof comes at the end: it fired when an umount2 was slow.
func (in *injector) press(ctx context.Context, i int, f failpoints.Fault) error {
	bps, dirty, err := term.ParsePressure(f.Do.At(1).Arg)
	if err != nil {
		return err
	}
	ids, err := in.shimsNow()
	if err != nil {
		return err
	}
	if err := in.x.world.ThrottleRoot(ctx, bps); err != nil {
		return err
	}
	neighbour, err := in.x.world.Start(ctx, world.Params{
		Argv:   append([]string{"/bin/sh", "-c", `exec "$@"`, "neighbour"}, iopressure.DirtyArgs(filepath.Join(in.x.world.RootDir(), "neighbour"), int(dirty>>20))...),
		Output: filepath.Join(in.x.world.Dir(), "neighbour.log"),
	})
	if err != nil {
		return err
	}
	e, err := neighbour.Exited(ctx)
	if err == nil && e.Code() != 0 {
		err = fmt.Errorf("the neighbour that dirties the disk exited with %d", e.Code())
	}
	if err != nil {
		return err
	}
	in.x.timeline.note("harness", "writes to the disk of containerd's root are limited to %d B/s, %d MiB are dirty", bps, dirty>>20)
	in.inForce(i)
	for _, id := range ids {
		w, err := iopressure.Watch(ctx, in.x.world.Inside("/proc"), id.PID)
		if err != nil {
			return err
		}
		in.later(func() error { return in.proveStall(i, w) })
	}
	in.undo = append(in.undo, in.x.world.LiftRoot)
	return nil
}

func (in *injector) proveStall(i int, w *iopressure.Stalls) error {
	if err := w.Stop(); err != nil {
		return err
	}
	for _, s := range w.All() {
		if s.Lasted >= noticeable {
			in.fired(i, "%s", s)
		}
	}
	return nil
}

// slow attaches strace to the shims; each delayed call is a proof.
func (in *injector) slow(ctx context.Context, i int, f failpoints.Fault) error {
	ids, err := in.shimsNow()
	if err != nil {
		return err
	}
	for _, id := range ids {
		pid, err := in.x.world.HostPID(id)
		if err != nil {
			return err
		}
		inj, err := slowsys.Attach(ctx, slowsys.Params{
			PID: pid, Syscall: f.At.What, Delay: f.Do.At(1).Delay(), Log: filepath.Join(in.x.world.Dir(), fmt.Sprintf("strace-%d.log", id.PID)),
		})
		if err != nil {
			return err
		}
		in.inForce(i)
		in.later(func() error {
			if n, longest := inj.Fired(); n > 0 {
				in.fired(i, "%d calls of %s were delayed in the shim with pid %d in its world, the longest took %s (strace)", n, f.At.What, id.PID, longest.Round(time.Millisecond))
			}
			return nil
		})
		in.undo = append(in.undo, func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			return inj.Detach(ctx)
		})
	}
	return nil
}

// inForce notes that the i-th fault may happen from now on.
func (in *injector) inForce(i int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.proofs[i].inForce = true
}

// later keeps a proof that can only be taken when the workload is done.
func (in *injector) later(proof func() error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.proving = append(in.proving, proof)
}
