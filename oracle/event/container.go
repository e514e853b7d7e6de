package event

import (
	"time"

	eventsapi "github.com/containerd/containerd/api/events"
	"github.com/containerd/containerd/v2/core/events"
)

// The topics of the events of a container's record, which has no process.
const (
	TopicContainerCreate = "/containers/create"
	TopicContainerUpdate = "/containers/update"
	TopicContainerDelete = "/containers/delete"
)

// Container is one event of containerd's stream about the record of a container.
type Container struct {
	Namespace string `json:"namespace"`
	Topic     string `json:"topic"`
	ID        string `json:"id"`
	// Image and Runtime are those that a create or an update tells.
	Image   string    `json:"image,omitempty"`
	Runtime string    `json:"runtime,omitempty"`
	Sent    time.Time `json:"sent"` // the envelope's timestamp
	Seen    time.Time `json:"seen"` // when it arrived here
}

// Containers returns a copy of the events of containers' records in the order of their
// arrival; never nil.
func (l *Log) Containers() []Container {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Container{}, l.containers...)
}

// addContainer adds what an envelope tells of a container's record, if it does.
func (l *Log) addContainer(env *events.Envelope, body any) {
	e := Container{Namespace: env.Namespace, Topic: env.Topic, Sent: env.Timestamp, Seen: time.Now()}
	switch b := body.(type) {
	case *eventsapi.ContainerCreate:
		e.ID, e.Image, e.Runtime = b.ID, b.Image, b.GetRuntime().GetName()
	case *eventsapi.ContainerUpdate:
		e.ID, e.Image = b.ID, b.Image
	case *eventsapi.ContainerDelete:
		e.ID = b.ID
	default:
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.containers = append(l.containers, e)
}
