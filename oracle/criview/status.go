// Package criview answers: what does CRI report about containers and sandboxes? It keeps
// CRI's responses and its stream of container events. It makes no findings.
package criview

import (
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The states of CRI in the API's form.
const (
	Running  = "CONTAINER_RUNNING"
	Exited   = "CONTAINER_EXITED"
	Unknown  = "CONTAINER_UNKNOWN"
	Ready    = "SANDBOX_READY"
	NotReady = "SANDBOX_NOTREADY"
)

// OOMKilled is CRI's reason for the exit of a container in which the kernel OOM-killed a
// process: the init or another.
const OOMKilled = "OOMKilled"

// Status is one response of CRI about a container.
type Status struct {
	ID       string `json:"id"`
	State    string `json:"state"` // in the API's form: CONTAINER_EXITED
	ExitCode int32  `json:"exitCode,omitempty"`
	Reason   string `json:"reason,omitempty"`
	// A zero time is CRI's 0: the event has not happened yet.
	Created  time.Time `json:"created,omitzero"`
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	// Asked and Seen are the times of the request and of the response.
	Asked time.Time `json:"asked"`
	Seen  time.Time `json:"seen"`
}

// StatusOf converts a response of ContainerStatus.
func StatusOf(s *api.ContainerStatus, asked time.Time) Status {
	return Status{
		ID: s.GetId(), State: s.GetState().String(), ExitCode: s.GetExitCode(), Reason: s.GetReason(),
		Created: nanoseconds(s.GetCreatedAt()), Started: nanoseconds(s.GetStartedAt()),
		Finished: nanoseconds(s.GetFinishedAt()), Asked: asked, Seen: time.Now(),
	}
}

// nanoseconds converts a time of CRI. 0 becomes the zero time.
func nanoseconds(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// Same reports whether two responses have the same content.
func (s Status) Same(o Status) bool {
	s.Asked, s.Seen = o.Asked, o.Seen
	return s == o
}
