package runner

import (
	"context"
	"errors"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/harness/judge"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// hearCRI listens to CRI's container events, where CRI is used: twice where no fault is
// planned and both are to be told them.
func (x *run) hearCRI(ctx context.Context, c *containerd.Client) error {
	conn, ok := c.Conn().(grpc.ClientConnInterface)
	if x.Workload.API != harness.CRI || !ok {
		return nil
	}
	err := x.criEvents.Record(ctx, conn)
	if x.Faultless() && criview.TellsAllIn(x.subject.Version) {
		err = errors.Join(err, x.criSecond.Record(ctx, conn))
	}
	return err
}

// criEventPatience is how long a container event that was due may still be on its way
// when everything has settled. It takes a millisecond.
const criEventPatience = 2 * time.Second

// lookAtCRI takes down what CRI lists when everything has settled, and what events have
// come. There is no mark that could be sent through CRI's events, so those that are due
// are waited for.
func (x *run) lookAtCRI() {
	lister, ok := x.client.(client.Lister)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(x.ctx, x.Workload.Deadline)
	defer cancel()
	listed := lister.List(ctx)
	lister.TryNames(ctx)
	patience, done := context.WithTimeout(ctx, criEventPatience)
	defer done()
	h := x.history()
	x.criEvents.Await(patience, func(heard criview.Heard) bool { return !judge.MissesCRIEvents(h, heard.Events) })
	second := x.lookAtSecond(patience)
	heard := x.criEvents.Heard()
	x.record.CRI(func(s *harness.CRISeen) {
		s.Listed, s.Events, s.NoEvents, s.Second = listed, heard.Events, heard.None, second
	})
}

// lookAtSecond is what the second was told who listens to CRI's container events, when it
// has been told what the first was, and the other way about; nil where there is none.
func (x *run) lookAtSecond(patience context.Context) *harness.CRISecond {
	if x.criSecond.Heard().Since.IsZero() {
		return nil
	}
	x.criSecond.Await(patience, func(is criview.Heard) bool {
		return is.Err != nil || !judge.Untold(x.criEvents.Heard().Events, is.Events, is.Since)
	})
	is := x.criSecond.Heard()
	x.criEvents.Await(patience, func(first criview.Heard) bool {
		return first.Err != nil || !judge.Untold(is.Events, first.Events, is.Since)
	})
	return &harness.CRISecond{Since: is.Since, Events: is.Events, Err: callerr.Of(is.Err)}
}

// lookMeanwhile is a look while the client is at work.
func (x *run) lookMeanwhile(before *inventory.Inventory) harness.Look {
	if before != nil {
		return x.lookAt(*before)
	}
	ctx, cancel := context.WithTimeout(x.ctx, x.Workload.Deadline)
	defer cancel()
	scene, err := x.sceneUp(ctx)
	if err != nil {
		return harness.Look{At: time.Now(), Up: callerr.Of(err)}
	}
	there, err := inventory.Take(ctx, scene)
	l := harness.Look{At: time.Now(), Asked: callerr.Of(err)}
	if err == nil {
		l.Inventory = &there
	}
	return l
}
