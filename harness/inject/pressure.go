package inject

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/shimquake/shimquake/failpoints/iopressure"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/fixtures/world"
	"github.com/shimquake/shimquake/harness"
)

// noticeable is how long an umount2 must take to count as slow. Without pressure it takes
// some 20 ms.
const noticeable = time.Second

// pressure throttles the disk of containerd's root, and lets a neighbour (another
// process) write dirty pages to it. Then it measures the umount2 calls of the shims. An
// example is io:root:running 1*pressure(4MiB/s,60MiB).
type pressure struct {
	in        *Injector
	i         int
	stalls    []*iopressure.Stalls
	throttled bool
}

func newPressure(in *Injector, i int) Fault { return &pressure{in: in, i: i} }

// Begin throttles the disk, writes dirty pages, and starts the measurement.
func (p *pressure) Begin(ctx context.Context) error {
	bps, dirty, err := term.ParsePressure(p.in.plan[p.i].Do.At(1).Arg)
	if err != nil {
		return err
	}
	ids, err := p.in.shims()
	if err != nil {
		return err
	}
	p.throttled = true
	if err := p.in.World.ThrottleRoot(ctx, bps); err != nil {
		return err
	}
	if err := p.dirty(ctx, int(dirty>>20)); err != nil {
		return err
	}
	p.in.record.Note(
		"harness",
		"writes to the disk of containerd's root are limited to %d B/s, %d MiB are dirty",
		bps,
		dirty>>20,
	)
	p.in.inForce(p.i)
	for _, id := range ids {
		w, err := iopressure.Watch(ctx, p.in.World.Proc(), id.PID)
		if err != nil {
			return err
		}
		p.stalls = append(p.stalls, w)
	}
	return nil
}

// dirty lets the neighbour write to the disk, and waits for its exit.
func (p *pressure) dirty(ctx context.Context, mib int) error {
	w := p.in.World
	neighbour, err := w.Start(ctx, world.Params{
		Argv: append([]string{"/bin/sh", "-c", `exec "$@"`, "neighbour"},
			iopressure.DirtyArgs(w.DirtyFile(), mib)...),
		Output: filepath.Join(w.Dir(), "neighbour.log"),
	})
	if err != nil {
		return err
	}
	e, err := neighbour.Exited(ctx)
	if err == nil && e.Code() != 0 {
		err = fmt.Errorf("the neighbour that dirties the disk exited with %d", e.Code())
	}
	return err
}

// Proof returns the slow calls of umount2.
func (p *pressure) Proof(context.Context) (harness.Firing, error) {
	var errs []error
	for _, w := range p.stalls {
		stalls, err := w.Stop()
		errs = append(errs, err)
		for _, s := range stalls {
			if s.Lasted >= noticeable {
				p.in.fired(p.i, "%s", s)
			}
		}
	}
	p.stalls = nil
	return p.in.seen(p.i), errors.Join(errs...)
}

// Undo lifts the throttle.
func (p *pressure) Undo() error {
	if !p.throttled {
		return nil
	}
	return p.in.World.LiftRoot()
}
