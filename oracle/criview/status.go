// Package criview answers: what does CRI say of containers and sandboxes? It keeps the
// answers of CRI and its stream of container events. It judges nothing.
package criview

import (
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The states of CRI, as its API names them.
const (
	Running  = "CONTAINER_RUNNING"
	Exited   = "CONTAINER_EXITED"
	Unknown  = "CONTAINER_UNKNOWN"
	Ready    = "SANDBOX_READY"
	NotReady = "SANDBOX_NOTREADY"
)

// OOMKilled is CRI's reason for the end of a container in which a process was
// OOM-killed, its init or another.
const OOMKilled = "OOMKilled"

// Status is one answer of CRI about a container.
type Status struct {
	ID       string `json:"id"`
	State    string `json:"state"` // as the API names it: CONTAINER_EXITED
	ExitCode int32  `json:"exitCode,omitempty"`
	Reason   string `json:"reason,omitempty"`
	// The zero time stands for CRI's 0: it has not been so yet.
	Created  time.Time `json:"created,omitzero"`
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	// Asked and Seen are when it was asked, and had answered.
	Asked time.Time `json:"asked"`
	Seen  time.Time `json:"seen"`
}

// StatusOf keeps an answer of ContainerStatus.
func StatusOf(s *api.ContainerStatus, asked time.Time) Status {
	return Status{
		ID: s.GetId(), State: s.GetState().String(), ExitCode: s.GetExitCode(), Reason: s.GetReason(),
		Created: nanoseconds(s.GetCreatedAt()), Started: nanoseconds(s.GetStartedAt()),
		Finished: nanoseconds(s.GetFinishedAt()), Asked: asked, Seen: time.Now(),
	}
}

// nanoseconds is a time of CRI, of which 0 stands for none.
func nanoseconds(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// Same reports whether two answers say the same.
func (s Status) Same(o Status) bool {
	s.Asked, s.Seen = o.Asked, o.Seen
	return s == o
}
