package harness

import (
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/oracle"
)

// Subscribed is what clients were told that subscribe to containerd's events beside the
// workload, each by a filter of its own, while one that was told an event reads no more.
type Subscribed struct {
	Clients []Subscription `json:"clients,omitempty"`
	// Published are the events that were published for them, in the order of time.
	Published []Published `json:"published,omitempty"`
}

// Subscription is one client's.
type Subscription struct {
	// Filter is as containerd takes it; "" stands for all events. Namespace and Topics are
	// what it selects: "" and nil for any.
	Filter    string   `json:"filter"`
	Namespace string   `json:"namespace,omitempty"`
	Topics    []string `json:"topics,omitempty"`
	// Below are what its topics begin with; nil for any.
	Below []string `json:"below,omitempty"`
	// Since is when it was told its first event, by which events reach it; the zero time: it
	// was not. Ending is when it was about to be cancelled, and the last events were
	// published.
	Since  time.Time   `json:"since,omitzero"`
	Ending time.Time   `json:"ending,omitzero"`
	Heard  []HeardThat `json:"heard,omitempty"`
	// Err is why it has ended before it was cancelled.
	Err *oracle.Failed `json:"err,omitempty"`
}

// HeardThat is an event that a subscription was told.
type HeardThat struct {
	Namespace string    `json:"namespace"`
	Topic     string    `json:"topic"`
	Sent      time.Time `json:"sent"`           // the envelope's timestamp
	Name      string    `json:"name,omitempty"` // of one that was published for it
}

// Published is an event that a client has published.
type Published struct {
	Namespace string         `json:"namespace"`
	Topic     string         `json:"topic"`
	Name      string         `json:"name"`
	At        time.Time      `json:"at"`
	Took      time.Duration  `json:"tookNs"`
	Err       *oracle.Failed `json:"err,omitempty"`
}

// HeardOf reports whether it was told an event that was published for it.
func (s Subscription) HeardOf(name string) bool {
	return slices.ContainsFunc(s.Heard, func(h HeardThat) bool { return h.Name == name })
}

// Selects reports whether a subscription is to be told an event.
func (s Subscription) Selects(namespace, topic string) bool {
	below := func(prefix string) bool { return strings.HasPrefix(topic, prefix) }
	return (s.Namespace == "" || s.Namespace == namespace) && (s.Topics == nil || slices.Contains(s.Topics, topic)) &&
		(s.Below == nil || slices.ContainsFunc(s.Below, below))
}
