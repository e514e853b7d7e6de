package harness

import (
	"context"
	"time"
)

// eventPatience is how long the client waits for an event of a deed that it was told of. One that does not come is the oracle's to judge.
const eventPatience = 2 * time.Second

// awaitEvent waits for an event of a container's init process.
func (x *experiment) awaitEvent(ctx context.Context, id, topic string) {
	patience := time.NewTimer(eventPatience)
	defer patience.Stop()
	for {
		events, more := x.events.Grown()
		for _, e := range events {
			if e.Container == id && e.Topic == topic && e.Exec == "" {
				return
			}
		}
		select {
		case <-more:
		case <-patience.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// awaitExit waits for the TaskExit event. dockerd and CRI act on the event and not on Wait: a shim wakes those who wait before it sends the
// event, so that a client that deletes at once can see the delete event first (seen on v2.4.2).
func (x *experiment) awaitExit(ctx context.Context, id string) { x.awaitEvent(ctx, id, "/tasks/exit") }

// made waits until tasks whose Create has succeeded are told of. An event that a shim has not sent yet dies with the shim, so without this it
// would be luck whether one that is killed when the task is created has sent it (seen on v2.4.2, once in ten runs on a machine under load).
func (x *experiment) made(ctx context.Context, ks []*container) {
	for _, k := range ks {
		x.awaitEvent(ctx, k.id, "/tasks/create")
	}
}

// begun waits until containers whose Start has succeeded run: until their payloads do, and are told of.
func (x *experiment) begun(ctx context.Context, ks []*container) {
	for _, k := range ks {
		x.witness.begun(ctx, k)
		x.awaitEvent(ctx, k.id, "/tasks/start")
	}
}
