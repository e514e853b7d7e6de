package runner

import (
	"context"
	"errors"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"google.golang.org/grpc"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/client"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/oracle/inventory"
	"github.com/shimquake/shimquake/poll"
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

// criEventTick is the time between two looks at CRI's events.
const criEventTick = 20 * time.Millisecond

// inspectCRI records CRI's lists and events. It waits for the events that are due,
// because nothing marks the end of CRI's events.
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
	// Either subscriber may lack an event. The judge reports what has not come by then.
	_ = poll.Until(bounded, criEventTick, func() (bool, error) { return x.allArrived(finding.ClassCRIEvent), nil })
	x.record.CRI(func(s *harness.CRISeen) {
		s.Listed = listed
		x.hearInto(s)
	})
}

// hearInto copies the events so far of both subscribers into what a client has seen.
func (x *run) hearInto(s *harness.CRISeen) {
	first, second := x.criEvents.Heard(), x.criSecond.Heard()
	s.Events, s.NoEvents = first.Events, first.None
	if !second.Since.IsZero() {
		s.Second = &harness.CRISecond{Since: second.Since, Events: second.Events, Err: callerr.Of(second.Err)}
	}
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
