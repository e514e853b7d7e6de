package criview

import (
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The types of CRI's container events, in their order in a container's life. A sandbox
// has them, too.
const (
	Created = "CONTAINER_CREATED_EVENT"
	Started = "CONTAINER_STARTED_EVENT"
	Stopped = "CONTAINER_STOPPED_EVENT"
	Deleted = "CONTAINER_DELETED_EVENT"
)

// EventTypes are the types of container events, in their order.
var EventTypes = []string{Created, Started, Stopped, Deleted}

// Event is one of CRI's container events.
type Event struct {
	Type string `json:"type"` // in the API's form: CONTAINER_STOPPED_EVENT
	ID   string `json:"id"`   // of the container, or of the sandbox.
	// State and ExitCode are the event's fields about its container; "" if the event has
	// none, for example for a deleted one.
	State    string `json:"state,omitempty"`
	ExitCode int32  `json:"exitCode,omitempty"`
	// Of are all containers whose state it has; nil in histories without this field.
	Of []string `json:"of"`
	// Bare is set if it lacks the status of its sandbox.
	Bare bool `json:"bare,omitempty"`
	// Created is its own time of creation; zero in histories without this field.
	Created time.Time `json:"created,omitzero"`
	Seen    time.Time `json:"seen"`
}

func eventOf(e *api.ContainerEventResponse) Event {
	out := Event{Type: e.GetContainerEventType().String(), ID: e.GetContainerId(),
		Bare: e.GetPodSandboxStatus().GetId() == "", Of: []string{}, Created: time.Unix(0, e.GetCreatedAt()),
		Seen: time.Now()}
	for _, s := range e.GetContainersStatuses() {
		out.Of = append(out.Of, s.GetId())
		if s.GetId() == out.ID {
			out.State, out.ExitCode = s.GetState().String(), s.GetExitCode()
		}
	}
	return out
}
