package event

import (
	"context"
	"errors"
	"fmt"
	"time"

	eventsapi "github.com/containerd/containerd/api/events"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/events"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/typeurl/v2"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// markTopic is the topic of marks: events that a Log publishes to see when they arrive.
// Any valid name of a namespace will do, because publishing creates no namespace.
const (
	markTopic     = "/shimquake/subscribed"
	markNamespace = "shimquake"
	markPause     = 10 * time.Millisecond
)

// Recording is a running subscription of a Log.
type Recording struct{ done chan error }

// Done returns a channel with the error that ended the subscription. It has none if ctx
// was cancelled, and is closed at the end.
func (r *Recording) Done() <-chan error { return r.done }

// Record subscribes the log to containerd's events about tasks. containerd accepts a
// subscription some time after the call, so Record publishes marks until one arrives.
// From its return on, all events arrive. The subscription ends with ctx. When containerd
// ends, a gap begins, until the next Record on the log.
func (l *Log) Record(ctx context.Context, client *containerd.Client) (*Recording, error) {
	stream, errs := client.Subscribe(ctx, `topic~="^/tasks/"`, `topic=="`+markTopic+`"`)
	if err := l.awaitMark(ctx, client, stream, errs); err != nil {
		return nil, fmt.Errorf("subscribe to containerd's events: %w", err)
	}
	l.hearing(time.Now())
	r := &Recording{done: make(chan error, 1)}
	go func() {
		defer close(r.done)
		for {
			select {
			case env := <-stream:
				l.add(env)
			case err := <-errs:
				if ctx.Err() == nil { // not a gap, if the caller ended the subscription
					l.Missed(time.Now(), time.Time{})
					r.done <- err
				}
				return
			}
		}
	}()
	return r, nil
}

// awaitMark publishes marks until one arrives. It keeps the events that arrive meanwhile.
func (l *Log) awaitMark(
	ctx context.Context,
	client *containerd.Client,
	stream <-chan *events.Envelope,
	errs <-chan error,
) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-errs:
			return errors.Join(err, errors.New("the stream ended before the first event"))
		case env := <-stream:
			if env.Topic == markTopic {
				return nil
			}
			l.add(env)
		case <-pause.C:
			if err := publishMark(ctx, client, "subscribed"); err != nil {
				return err
			}
			pause.Reset(markPause)
		}
	}
}

// publishMark sends a mark through containerd's exchange. A mark can have any registered
// type.
func publishMark(ctx context.Context, client *containerd.Client, name string) error {
	mark := &eventsapi.TaskOOM{ContainerID: name}
	if err := client.EventService().Publish(namespaces.WithNamespace(ctx, markNamespace), markTopic, mark); err != nil {
		return fmt.Errorf("publish a mark: %w", err)
	}
	return nil
}

// Flush returns when all events that containerd has received by now are in the log. The
// exchange keeps the order of events, so Flush sends a mark and waits for it. If no shim
// runs any more, an event that is missing after Flush never arrives.
func (l *Log) Flush(ctx context.Context, client *containerd.Client) error {
	name := fmt.Sprintf("flush-%d", time.Now().UnixNano())
	if err := publishMark(ctx, client, name); err != nil {
		return err
	}
	for {
		_, more := l.sofar()
		l.mu.Lock()
		arrived := l.marks[name]
		l.mu.Unlock()
		if arrived {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("wait for a mark in containerd's events: %w", ctx.Err())
		}
	}
}

// passed records that a mark has arrived.
func (l *Log) passed(mark string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.marks == nil {
		l.marks = map[string]bool{}
	}
	l.marks[mark] = true
	l.wake()
}

// hearing ends the open gaps.
func (l *Log) hearing(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.gaps {
		if l.gaps[i].To.IsZero() {
			l.gaps[i].To = now
		}
	}
}

// The bounds of the events of a case, which has some hundred. An id of containerd has at
// most 76 bytes (pkg/identifiers), and an event has three.
const (
	maxEvents  = 1 << 16
	longestIDs = 3 * 76
)

// add decodes an envelope. It ignores marks, events of other kinds, and events with ids
// that containerd does not allow.
func (l *Log) add(env *events.Envelope) {
	if env == nil || env.Event == nil {
		return
	}
	body, err := typeurl.UnmarshalAny(env.Event)
	if err != nil {
		return // decode knows no other type
	}
	if mark, ok := body.(*eventsapi.TaskOOM); ok && env.Topic == markTopic {
		l.passed(mark.ContainerID)
		return
	}
	e, ok := decode(body)
	if !ok || len(e.Container)+len(e.Exec)+len(env.Namespace) > longestIDs {
		return
	}
	e.Namespace, e.Sent, e.Seen = env.Namespace, env.Timestamp, time.Now()
	l.Add(e)
}

func decode(body any) (Task, bool) {
	switch b := body.(type) {
	case *eventsapi.TaskCreate:
		return Task{Topic: TopicCreate, Container: b.ContainerID, PID: int(b.Pid)}, true
	case *eventsapi.TaskStart:
		return Task{Topic: TopicStart, Container: b.ContainerID, PID: int(b.Pid)}, true
	case *eventsapi.TaskPaused:
		return Task{Topic: TopicPaused, Container: b.ContainerID}, true
	case *eventsapi.TaskResumed:
		return Task{Topic: TopicResumed, Container: b.ContainerID}, true
	case *eventsapi.TaskOOM:
		return Task{Topic: TopicOOM, Container: b.ContainerID}, true
	case *eventsapi.TaskExecAdded:
		return Task{Topic: TopicExecAdded, Container: b.ContainerID, Exec: b.ExecID}, true
	case *eventsapi.TaskExecStarted:
		return Task{Topic: TopicExecStart, Container: b.ContainerID, Exec: b.ExecID, PID: int(b.Pid)}, true
	case *eventsapi.TaskExit:
		return Task{
			Topic: TopicExit, Container: b.ContainerID, Exec: execOf(b.ContainerID, b.ID),
			PID: int(b.Pid), Status: b.ExitStatus, Exited: timeOf(b.ExitedAt),
		}, true
	case *eventsapi.TaskDelete:
		return Task{
			Topic: TopicDelete, Container: b.ContainerID, Exec: execOf(b.ContainerID, b.ID),
			PID: int(b.Pid), Status: b.ExitStatus, Exited: timeOf(b.ExitedAt),
		}, true
	}
	return Task{}, false
}

// execOf returns the id of an exec. containerd sends the container's id, or nothing, for
// the init process.
func execOf(container, id string) string {
	if id == container {
		return ""
	}
	return id
}

// timeOf returns the zero time for a missing time and for the Unix epoch: containerd
// converts the zero time to either.
func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil || t.AsTime().Unix() <= 0 {
		return time.Time{}
	}
	return t.AsTime()
}
