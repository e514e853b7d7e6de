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

// hearCRI subscribes to CRI's container events in a CRI case. In a case without faults it
// subscribes twice, if the release sends all events to each subscriber.
func (x *run) hearCRI(ctx context.Context, c *containerd.Client) error {
	conn, ok := c.Conn().(grpc.ClientConnInterface)
	if x.Workload.API != harness.CRI || !ok {
		return nil
	}
	err := x.criEvents.Record(ctx, conn)
	if x.Faultless() && criview.BroadcastsIn(x.subject.Version) {
		err = errors.Join(err, x.criSecond.Record(ctx, conn))
	}
	return err
}

// criEventTimeout is how long inspectCRI waits for a missing container event. CRI takes a
// millisecond to send it.
const criEventTimeout = 2 * time.Second

// inspectCRI records CRI's lists and events. It waits for the events that a rule of the
// judge requires, because nothing marks the end of CRI's events.
func (x *run) inspectCRI() {
	lister, ok := x.client.(client.Lister)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(x.ctx, x.lookLimit())
	defer cancel()
	listed := lister.List(ctx)
	lister.TryNames(ctx)
	bounded, done := context.WithTimeout(ctx, criEventTimeout)
	defer done()
	h := x.history()
	x.criEvents.Await(bounded, func(heard criview.Heard) bool { return !judge.HasDueCRIEvents(h, heard.Events) })
	second := x.secondClientsEvents(bounded)
	heard := x.criEvents.Heard()
	x.record.CRI(func(s *harness.CRISeen) {
		s.Listed, s.Events, s.NoEvents, s.Second = listed, heard.Events, heard.None, second
	})
}

// secondClientsEvents returns the events that the second subscriber to CRI's container
// events received, or nil if there is none. It waits until both subscribers have the
// same events.
func (x *run) secondClientsEvents(ctx context.Context) *harness.CRISecond {
	if x.criSecond.Heard().Since.IsZero() {
		return nil
	}
	x.criSecond.Await(ctx, func(is criview.Heard) bool {
		return is.Err != nil || !judge.HasDueEventsOfAnother(x.criEvents.Heard().Events, is.Events, is.Since)
	})
	is := x.criSecond.Heard()
	x.criEvents.Await(ctx, func(first criview.Heard) bool {
		return first.Err != nil || !judge.HasDueEventsOfAnother(is.Events, first.Events, is.Since)
	})
	return &harness.CRISecond{Since: is.Since, Events: is.Events, Err: callerr.Of(is.Err)}
}

// inspectMeanwhile takes an inventory while the client runs. If before is not nil, it
// waits as inspectNode does.
func (x *run) inspectMeanwhile(before *inventory.Inventory) harness.Inspection {
	if before != nil {
		return x.inspectNode(*before)
	}
	ctx, cancel := context.WithTimeout(x.ctx, x.lookLimit())
	defer cancel()
	scene, err := x.sceneUp(ctx)
	if err != nil {
		return harness.Inspection{At: time.Now(), Up: callerr.Of(err)}
	}
	there, err := inventory.Take(ctx, scene)
	l := harness.Inspection{At: time.Now(), Asked: callerr.Of(err)}
	if err == nil {
		l.Inventory = &there
	}
	return l
}
