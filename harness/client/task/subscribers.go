package task

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	eventsapi "github.com/containerd/containerd/api/events"
	eventservice "github.com/containerd/containerd/api/services/events/v1"
	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/events"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/typeurl/v2"
	"google.golang.org/grpc"

	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
	"github.com/shimquake/shimquake/poll"
)

const (
	// heardWithin is how long a published event may take to come. It takes a millisecond.
	heardWithin = 10 * time.Second
	markEvery   = 10 * time.Millisecond
	// fillers of fillerSize bytes are more than a stream takes that nobody reads: gRPC has
	// 64 KiB on each side, and may give it more.
	fillers    = 32
	fillerSize = 64 << 10
	// crowd is how many small ones follow: more than who counts what waits may hold back.
	crowd = 1100
)

// The topics of what is published for subscribers. Fillers are selected by no filter.
const (
	topicA      = "/shimquake/a"
	topicB      = "/shimquake/b"
	fillerTopic = "/shimquake/filler"
	crowdTopic  = "/shimquake/crowd" // noted only where it cannot be published
	// fillerNamespace need not exist: to publish in it makes none.
	fillerNamespace = "shimquake-filler"
)

// subscriptions are by what clients subscribe, in turn.
var subscriptions = []harness.Subscription{
	{},
	{Filter: "namespace==" + daemon.TaskNamespace, Namespace: daemon.TaskNamespace},
	{Filter: "namespace==" + daemon.TwinNamespace, Namespace: daemon.TwinNamespace},
	{Filter: `topic=="` + topicA + `"`, Topics: []string{topicA}},
	{Filter: `topic~="^/shimquake/[ab]$"`, Topics: []string{topicA, topicB}},
	{Filter: "namespace==" + daemon.TwinNamespace + `,topic=="` + topicB + `"`,
		Namespace: daemon.TwinNamespace, Topics: []string{topicB}},
	// By what only events of tasks have, the workload's and those that are published here.
	{Filter: `event.container_id~="^(c0|event-[0-9]+ *)$"`, Below: []string{"/tasks/", "/shimquake/"}},
}

// subscribers are the clients that subscribe to events beside the workload.
type subscribers struct {
	*Client
	all    []*subscriber
	ended  sync.WaitGroup
	cancel context.CancelFunc
	named  int
}

// subscriber is one of them.
type subscriber struct {
	mu   sync.Mutex
	seen harness.Subscription
}

// subscribe returns when the clients that subscribe are told events, where nothing is
// broken, and one of them does not read them.
func (c *Client) subscribe(ctx context.Context) *subscribers {
	n := c.Case.Workload.Subscribers
	if n == 0 || c.Quiet || !c.Case.Faultless() {
		return nil
	}
	cl, conn, err := c.Up(ctx)
	if err != nil {
		return nil // what it comes to is for others to say
	}
	s := &subscribers{Client: c}
	ctx, s.cancel = context.WithCancel(ctx)
	for k := range n {
		one := &subscriber{seen: subscriptions[k%len(subscriptions)]}
		s.all = append(s.all, one)
		var filters []string
		if one.seen.Filter != "" {
			filters = []string{one.seen.Filter}
		}
		heard, errs := cl.Subscribe(ctx, filters...)
		s.ended.Go(func() { one.hear(ctx, heard, errs) })
	}
	s.publishUntil(ctx, cl, func(one *subscriber) bool { return !one.since().IsZero() })
	s.standStill(ctx, cl, conn)
	s.publishAll(ctx, cl)
	return s
}

// standStill has a client subscribe that does not read what it is told, but for the first
// event, and publishes more than its stream takes. Where that keeps anybody from
// publishing the client goes away.
func (s *subscribers) standStill(ctx context.Context, cl *containerd.Client, conn grpc.ClientConnInterface) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := eventservice.NewEventsClient(conn).Subscribe(ctx, &eventservice.SubscribeRequest{})
	if err != nil {
		cancel()
		return
	}
	first := make(chan error, 1)
	s.ended.Go(func() {
		_, err := stream.Recv()
		first <- err
	})
	told := false
	until, enough := context.WithTimeout(ctx, heardWithin)
	defer enough()
	_ = poll.Until(until, markEvery, func() (bool, error) {
		select {
		case err := <-first:
			told = err == nil
			return true, nil
		default:
			return !s.publish(ctx, cl, fillerNamespace, fillerTopic, 0), nil
		}
	})
	for range fillers {
		told = told && s.publish(ctx, cl, fillerNamespace, fillerTopic, fillerSize)
	}
	for range crowd {
		told = told && s.publish(ctx, cl, fillerNamespace, crowdTopic, 0)
	}
	if !told {
		cancel()
		return
	}
	context.AfterFunc(ctx, cancel) // it stays until all are cancelled
}

// end publishes the last events, waits until they are heard, and cancels all.
func (s *subscribers) end(ctx context.Context) {
	if s == nil {
		return
	}
	if cl, _, err := s.Up(ctx); err == nil {
		ending := time.Now()
		for _, one := range s.all {
			one.set(func(is *harness.Subscription) { is.Ending = ending })
		}
		last := s.publishAll(ctx, cl)
		until, enough := context.WithTimeout(ctx, heardWithin)
		_ = poll.Until(until, markEvery, func() (bool, error) { // who has not heard is the judge's business
			return s.every(func(one *subscriber) bool { return one.heard(last) }), nil
		})
		enough()
	}
	s.cancel()
	s.ended.Wait()
	s.Record.Set(func(h *harness.History) {
		for _, one := range s.all {
			h.Subscribed.Clients = append(h.Subscribed.Clients, one.seen)
		}
	})
}

// publishUntil publishes events until something is true of every subscriber.
func (s *subscribers) publishUntil(ctx context.Context, cl *containerd.Client, is func(*subscriber) bool) {
	ctx, cancel := context.WithTimeout(ctx, heardWithin)
	defer cancel()
	_ = poll.Until(ctx, markEvery, func() (bool, error) {
		return s.every(is) || s.publishAll(ctx, cl) == nil, nil
	})
}

func (s *subscribers) every(is func(*subscriber) bool) bool {
	for _, one := range s.all {
		if !is(one) {
			return false
		}
	}
	return true
}

// publishAll publishes an event of each kind that is selected, or not. It returns them,
// or nil where one could not be published.
func (s *subscribers) publishAll(ctx context.Context, cl *containerd.Client) []harness.Published {
	var all []harness.Published
	for _, ns := range []string{daemon.TaskNamespace, daemon.TwinNamespace} {
		for _, topic := range []string{topicA, topicB} {
			if !s.publish(ctx, cl, ns, topic, 0) {
				return nil
			}
			all = append(all, harness.Published{Namespace: ns, Topic: topic, Name: s.name()})
		}
	}
	return all
}

// name is that of what was published last.
func (s *subscribers) name() string { return fmt.Sprintf("event-%d", s.named) }

// publish publishes an event with a body of at least that size, and reports whether it
// was taken. Any registered type serves as its body.
func (s *subscribers) publish(ctx context.Context, cl *containerd.Client, ns, topic string, size int) bool {
	s.named++
	is := harness.Published{Namespace: ns, Topic: topic, Name: s.name(), At: time.Now()}
	own, cancel := context.WithTimeout(namespaces.WithNamespace(ctx, ns), heardWithin)
	defer cancel()
	body := &eventsapi.TaskOOM{ContainerID: is.Name + strings.Repeat(" ", size)}
	err := cl.EventService().Publish(own, topic, body)
	if err != nil && ctx.Err() != nil {
		return false // it was given up
	}
	if err == nil && topic == crowdTopic {
		return true
	}
	is.Took, is.Err = time.Since(is.At), oracle.FailedOf(err)
	s.Record.Set(func(h *harness.History) {
		if h.Subscribed == nil {
			h.Subscribed = &harness.Subscribed{}
		}
		h.Subscribed.Published = append(h.Subscribed.Published, is)
	})
	return err == nil
}

// hear notes what it is told until it is cancelled.
func (o *subscriber) hear(ctx context.Context, heard <-chan *events.Envelope, errs <-chan error) {
	for {
		select {
		case e := <-heard:
			if e.Topic == crowdTopic {
				continue
			}
			that := harness.HeardThat{Namespace: e.Namespace, Topic: e.Topic, Sent: e.Timestamp}
			if body, err := typeurl.UnmarshalAny(e.Event); err == nil && strings.HasPrefix(e.Topic, "/shimquake/") {
				if own, ok := body.(*eventsapi.TaskOOM); ok {
					that.Name = strings.TrimRight(own.ContainerID, " ")
				}
			}
			o.set(func(is *harness.Subscription) {
				if is.Since.IsZero() {
					is.Since = time.Now()
				}
				is.Heard = append(is.Heard, that)
			})
		case err := <-errs:
			if ctx.Err() == nil {
				err = errors.Join(err, errors.New("the stream has ended"))
				o.set(func(is *harness.Subscription) { is.Err = oracle.FailedOf(err) })
			}
			return
		case <-ctx.Done():
			return
		}
	}
}

func (o *subscriber) set(change func(*harness.Subscription)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(&o.seen)
}

func (o *subscriber) since() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen.Since
}

// heard reports whether it was told all of some events that it selects, or nothing more
// can come.
func (o *subscriber) heard(all []harness.Published) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range all {
		if o.seen.Err == nil && o.seen.Selects(p.Namespace, p.Topic) && !o.seen.HeardOf(p.Name) {
			return false
		}
	}
	return true
}
