package criview

import (
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The types of CRI's container events, in the order of a container's lifecycle. CRI sends
// them for sandboxes, too.
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
	ID   string `json:"id"`   // of the container or the sandbox
	// State and ExitCode are from the status of the container ID in the event. State is
	// "" if the event has no such status, for example after the deletion.
	State    string `json:"state,omitempty"`
	ExitCode int32  `json:"exitCode,omitempty"`
	// Of lists the ids of all containers with a status in the event.
	Of []string `json:"of,omitempty"`
	// NoSandboxStatus is set if the event has no status of the sandbox.
	NoSandboxStatus bool `json:"bare,omitempty"`
	// Created is the event's own time.
	Created time.Time `json:"created"`
	Seen    time.Time `json:"seen"`
}

func eventOf(e *api.ContainerEventResponse) Event {
	out := Event{Type: e.GetContainerEventType().String(), ID: e.GetContainerId(),
		NoSandboxStatus: e.GetPodSandboxStatus().GetId() == "", Created: time.Unix(0, e.GetCreatedAt()),
		Seen: time.Now()}
	for _, s := range e.GetContainersStatuses() {
		out.Of = append(out.Of, s.GetId())
		if s.GetId() == out.ID {
			out.State, out.ExitCode = s.GetState().String(), s.GetExitCode()
		}
	}
	return out
}
