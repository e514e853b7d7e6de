// Package events publishes a fake shim's events to containerd, in order, over the ttrpc
// address that containerd gave it.
package events

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"time"

	api "github.com/containerd/containerd/api/events"
	forward "github.com/containerd/containerd/api/services/ttrpc/events/v1"
	"github.com/containerd/containerd/api/types"
	"github.com/containerd/ttrpc"
	"github.com/containerd/typeurl/v2"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/shimquake/shimquake/failpoints/probe"
	"github.com/shimquake/shimquake/shims/fakeshim/behaviour"
	"github.com/shimquake/shimquake/shims/fakeshim/proof"
)

const (
	callTimeout = 5 * time.Second // of one attempt, as in containerd's own shims
	retryEvery  = time.Second     // between attempts, while containerd is away
	attempts    = 6               // until an event is dropped, as in containerd's own shims
	namespaceMD = "containerd-namespace-ttrpc"
	longest     = 1 << 12 // more events than a shim has at a time
)

// topics are the topics of containerd's events.
var topics = map[reflect.Type]string{
	reflect.TypeFor[*api.TaskCreate]():      "/tasks/create",
	reflect.TypeFor[*api.TaskStart]():       "/tasks/start",
	reflect.TypeFor[*api.TaskExit]():        "/tasks/exit",
	reflect.TypeFor[*api.TaskDelete]():      "/tasks/delete",
	reflect.TypeFor[*api.TaskExecAdded]():   "/tasks/exec-added",
	reflect.TypeFor[*api.TaskExecStarted](): "/tasks/exec-started",
	reflect.TypeFor[*api.TaskPaused]():      "/tasks/paused",
	reflect.TypeFor[*api.TaskResumed]():     "/tasks/resumed",
}

// Publisher sends events in the order of Publish.
type Publisher struct {
	address, namespace string
	policy             string // one of behaviour's Events words
	log                func(string, ...any)

	queue chan *types.Envelope // nil is the end
	done  chan struct{}

	client *ttrpc.Client // of run only
	conn   net.Conn
}

// New returns a publisher to a containerd at address (TTRPC_ADDRESS). Close it.
func New(address, namespace, policy string, log func(string, ...any)) *Publisher {
	p := &Publisher{
		address: strings.TrimPrefix(address, "unix://"), namespace: namespace, policy: policy, log: log,
		queue: make(chan *types.Envelope, longest), done: make(chan struct{}),
	}
	go p.run()
	return p
}

// Publish queues an event of containerd's api/events and returns at once.
func (p *Publisher) Publish(event any) {
	topic, ok := topics[reflect.TypeOf(event)]
	if !ok {
		panic(fmt.Sprintf("no topic for %T", event)) // a bug of this program
	}
	times := 1
	switch {
	case p.policy == behaviour.EventsNone,
		p.policy == behaviour.EventsNoExit && topic == "/tasks/exit",
		p.policy == behaviour.EventsNoDel && topic == "/tasks/delete":
		p.note("did not publish %s", topic)
		return
	case p.policy == behaviour.EventsTwice && topic == "/tasks/exit":
		p.note("published %s twice", topic)
		times = 2
	}
	body, err := typeurl.MarshalAnyToProto(event)
	if err != nil {
		panic(err) // as above
	}
	envelope := &types.Envelope{Timestamp: timestamppb.Now(), Namespace: p.namespace, Topic: topic, Event: body}
	for range times {
		p.queue <- envelope
	}
}

// Close waits until the events so far are sent, or for the context, and ends the
// publisher.
func (p *Publisher) Close(ctx context.Context) error {
	p.queue <- nil
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("events were not published: %w", ctx.Err())
	}
}

func (p *Publisher) note(format string, args ...any) {
	if err := proof.Note("events", format, args...); err != nil {
		p.log("%v", err)
	}
}

// run sends the queued events until the publisher is closed.
func (p *Publisher) run() {
	defer close(p.done)
	for next := <-p.queue; next != nil; next = <-p.queue {
		p.deliver(next)
	}
}

// deliver tries to send one event until containerd accepts it or the attempts are used
// up.
func (p *Publisher) deliver(envelope *types.Envelope) {
	tick := time.Tick(retryEvery)
	for n := 1; ; n++ {
		err := p.send(envelope)
		if err == nil {
			return
		}
		p.log("publish %s, attempt %d of %d: %v", envelope.Topic, n, attempts, err)
		if n == attempts {
			return
		}
		if !errors.Is(err, ttrpc.ErrClosed) || n > 1 { // a stale connection is replaced at once
			<-tick
		}
	}
}

func (p *Publisher) send(envelope *types.Envelope) error {
	if p.client == nil {
		conn, err := net.DialTimeout("unix", p.address, callTimeout)
		if err != nil {
			return err
		}
		p.conn, p.client = conn, ttrpc.NewClient(conn)
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	ctx = ttrpc.WithMetadata(ctx, ttrpc.MD{namespaceMD: []string{p.namespace}})
	req := &forward.ForwardRequest{Envelope: envelope}
	conn := p.conn
	err := probe.Call(ctx, "containerd.services.events.ttrpc.v1.Events", "Forward", req, func() { _ = conn.Close() },
		func(ctx context.Context) error {
			_, err := forward.NewTTRPCEventsClient(p.client).Forward(ctx, req)
			return err
		})
	if errors.Is(err, ttrpc.ErrClosed) {
		_ = p.client.Close()
		p.client = nil
	}
	return err
}
