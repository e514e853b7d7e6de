// Package criview answers: what does CRI say of containers and sandboxes? It keeps the
// answers of CRI and its stream of container events. It judges nothing.
package criview

import (
	"strings"
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
	// Given is what else the client has asked for; nil in histories that do not tell it.
	Given *Given `json:"given,omitempty"`
	// The zero time stands for CRI's 0: it has not been so yet.
	Created  time.Time `json:"created,omitzero"`
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	// Asked and Seen are when it was asked, and had answered.
	Asked time.Time `json:"asked"`
	Seen  time.Time `json:"seen"`
}

// Given is of what a container was made, as its client asks for it, or as CRI says it.
type Given struct {
	Annotation string `json:"annotation,omitempty"` // the value of RestartCount
	Image      string `json:"image,omitempty"`      // its name
	// ImageRef is its digest, which its client does not ask for. A list does not tell
	// LogPath and Mounts, each "CONTAINER from HOST", divided by commas.
	ImageRef string `json:"imageRef,omitempty"`
	LogPath  string `json:"logPath,omitempty"`
	Mounts   string `json:"mounts,omitempty"`
	// StopSignal is by what it is to be stopped: SIGTERM. A list does not tell it, nor does
	// a release before v2.3: "".
	StopSignal string `json:"stopSignal,omitempty"`
}

// RestartCount is the key of an annotation that kubelet gives a container, and that the
// client gives its own.
const RestartCount = "io.kubernetes.container.restartCount"

// MountsOf are those of a container.
func MountsOf(all []*api.Mount) string {
	var texts []string
	for _, m := range all {
		texts = append(texts, m.GetContainerPath()+" from "+m.GetHostPath())
	}
	return strings.Join(texts, ",")
}

// GivenOfList is what a list says of it.
func GivenOfList(k *api.Container) *Given {
	return &Given{Annotation: k.GetAnnotations()[RestartCount], Image: k.GetImage().GetImage(),
		ImageRef: k.GetImageRef()}
}

// stopSignal is a signal's name, "" where CRI tells none.
func stopSignal(s api.Signal) string {
	if s == api.Signal_SIGNAL_RUNTIME_DEFAULT {
		return ""
	}
	return strings.TrimPrefix(s.String(), "SIGNAL_")
}

// StatusOf keeps an answer of ContainerStatus.
func StatusOf(s *api.ContainerStatus, asked time.Time) Status {
	return Status{
		ID: s.GetId(), State: s.GetState().String(), ExitCode: s.GetExitCode(), Reason: s.GetReason(),
		Created: nanoseconds(s.GetCreatedAt()), Started: nanoseconds(s.GetStartedAt()),
		Finished: nanoseconds(s.GetFinishedAt()), Asked: asked, Seen: time.Now(),
		Given: &Given{
			Annotation: s.GetAnnotations()[RestartCount], Image: s.GetImage().GetImage(), ImageRef: s.GetImageRef(),
			LogPath: s.GetLogPath(), Mounts: MountsOf(s.GetMounts()), StopSignal: stopSignal(s.GetStopSignal()),
		},
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
	if s.Given != nil && o.Given != nil && *s.Given == *o.Given {
		s.Given = o.Given
	}
	s.Asked, s.Seen = o.Asked, o.Seen
	return s == o
}
