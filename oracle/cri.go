package oracle

import (
	"strings"
	"time"

	api "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ClassCRIStatus is what CRI says of a container or a sandbox, and ClassCRIEvent what its
// container events say.
const (
	ClassCRIStatus Class = "cri-status"
	ClassCRIEvent  Class = "cri-event"
)

// Status is the invariant that CRI says of a container and of a sandbox what is so.
const Status Invariant = "status"

// The states of CRI, as its API names them.
const (
	CRIRunning  = "CONTAINER_RUNNING"
	CRIExited   = "CONTAINER_EXITED"
	CRIUnknown  = "CONTAINER_UNKNOWN"
	CRIReady    = "SANDBOX_READY"
	CRINotReady = "SANDBOX_NOTREADY"
)

// CRIOOMKilled is CRI's reason for the end of a container in which a process was
// OOM-killed, its init or another.
const CRIOOMKilled = "OOMKilled"

// The types of CRI's container events, in the order in which a container has them. A
// sandbox has them, too.
const (
	CRICreated = "CONTAINER_CREATED_EVENT"
	CRIStarted = "CONTAINER_STARTED_EVENT"
	CRIStopped = "CONTAINER_STOPPED_EVENT"
	CRIDeleted = "CONTAINER_DELETED_EVENT"
)

// CRIEvents are the types of container events, in their order.
var CRIEvents = []string{CRICreated, CRIStarted, CRIStopped, CRIDeleted}

// The fields of what CRI says: values of FactField.
const (
	FieldID       = "id" // by which a list is asked for
	FieldState    = "state"
	FieldLabels   = "labels" // and the name
	FieldReason   = "reason"
	FieldExitCode = "exit-code"
	FieldCreated  = "created-at"
	FieldStarted  = "started-at"
	FieldFinished = "finished-at"
	FieldSandbox  = "sandbox" // its status, in an event
	FieldSibling  = "sibling" // the status of another container of its pod, in an event
	FieldIP       = "ip"      // of a pod

	FieldImage   = "image" // of the create of a container's record, too
	FieldRuntime = "runtime"

	FieldImageRef    = "image-ref"
	FieldAnnotations = "annotations"
	FieldLogPath     = "log-path"
	FieldMounts      = "mounts"
	FieldStopSignal  = "stop-signal"
	FieldMemoryLimit = "memory-limit"

	FieldMemory    = "memory" // what it uses of it
	FieldCPU       = "cpu"
	FieldMeteredAt = "metered-at"
)

// What is wrong with a field: values of FactIs.
const (
	TooEarly = "too-early" // a time before what it is the time of
	TooLate  = "too-late"  // a time after that, or later than CRI has said it
	NotSet   = "not-set"
	Other    = "other"   // another than is true
	Changed  = "changed" // another than CRI has said before
)

// More values of facts.
const (
	OnlyByCRI   = "by-cri-alone" // FactListed: CRI lists what containerd does not have
	NotByCRI    = "not-by-cri"   // and the other way about
	ASandbox    = "sandbox"      // FactObject
	InLivingPod = "living-pod"   // FactIn: a container was removed, and its pod lives on
	OfTheLiving = "living"       // something was taken from who lives
	// InLivingContainer is what an exec has left in a container that lives on.
	InLivingContainer = "living-container"
)

// CRIStatus is one answer of CRI about a container.
type CRIStatus struct {
	ID       string `json:"id"`
	State    string `json:"state"` // as the API names it: CONTAINER_EXITED
	ExitCode int32  `json:"exitCode,omitempty"`
	Reason   string `json:"reason,omitempty"`
	// Labels are what the client has given it; nil in histories that do not tell them.
	Labels *CRILabels `json:"labels,omitempty"`
	// Given is what else the client has asked for; nil in histories that do not tell it.
	Given *CRIGiven `json:"given,omitempty"`
	// MemoryLimit is what it may have of memory, in bytes; 0: CRI tells no limit of it.
	MemoryLimit int64 `json:"memoryLimit,omitempty"`
	// The zero time stands for CRI's 0: it has not been so yet.
	Created  time.Time `json:"created,omitzero"`
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	// Asked and Seen are when it was asked, and had answered.
	Asked time.Time `json:"asked"`
	Seen  time.Time `json:"seen"`
}

// CRILabels are the name of a container, or of a pod, and the value of its label Label.
type CRILabels struct {
	Name  string `json:"name"`
	Label string `json:"label"`
}

// CRIGiven is of what a container was made, as its client asks for it, or as CRI says it.
type CRIGiven struct {
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

// CRIGivenOfList is what a list says of it.
func CRIGivenOfList(k *api.Container) *CRIGiven {
	return &CRIGiven{Annotation: k.GetAnnotations()[RestartCount], Image: k.GetImage().GetImage(),
		ImageRef: k.GetImageRef()}
}

// named is what CRI says the names of: a container or a sandbox, by their metadata.
type named[M interface{ GetName() string }] interface {
	GetMetadata() M
	GetLabels() map[string]string
}

// CRILabelsOf are those of a container or a sandbox, in its status or in a list.
func CRILabelsOf[M interface{ GetName() string }](of named[M]) *CRILabels {
	return &CRILabels{Name: of.GetMetadata().GetName(), Label: of.GetLabels()[Label]}
}

// Label is the key of the label that the client gives a container, and its pod: its name.
const Label = "shimquake"

// stopSignal is a signal's name, "" where CRI tells none.
func stopSignal(s api.Signal) string {
	if s == api.Signal_SIGNAL_RUNTIME_DEFAULT {
		return ""
	}
	return strings.TrimPrefix(s.String(), "SIGNAL_")
}

// CRIStatusOf keeps an answer of ContainerStatus.
func CRIStatusOf(s *api.ContainerStatus, asked time.Time) CRIStatus {
	return CRIStatus{
		ID: s.GetId(), State: s.GetState().String(), ExitCode: s.GetExitCode(), Reason: s.GetReason(),
		Created: nanoseconds(s.GetCreatedAt()), Started: nanoseconds(s.GetStartedAt()),
		Finished: nanoseconds(s.GetFinishedAt()), Asked: asked, Seen: time.Now(),
		MemoryLimit: s.GetResources().GetLinux().GetMemoryLimitInBytes(),
		Labels:      CRILabelsOf(s), Given: &CRIGiven{
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
func (s CRIStatus) Same(o CRIStatus) bool {
	if s.Labels != nil && o.Labels != nil && *s.Labels == *o.Labels {
		s.Labels = o.Labels
	}
	if s.Given != nil && o.Given != nil && *s.Given == *o.Given {
		s.Given = o.Given
	}
	s.Asked, s.Seen = o.Asked, o.Seen
	return s == o
}

// CRIEvent is one of CRI's container events.
type CRIEvent struct {
	Type string `json:"type"` // as the API names it: CONTAINER_STOPPED_EVENT
	ID   string `json:"id"`   // of the container, or of the sandbox
	// State and ExitCode are what the event says of its container; "" where it says nothing
	// of it, as of one that is deleted.
	State    string `json:"state,omitempty"`
	ExitCode int32  `json:"exitCode,omitempty"`
	// Of are all containers of whose state it tells; nil in histories that do not say so.
	Of []string `json:"of"`
	// Bare: it comes without the status of its sandbox.
	Bare bool `json:"bare,omitempty"`
	// Created is when it came about, as it says; the zero time in histories that do not tell
	// it.
	Created time.Time `json:"created,omitzero"`
	Seen    time.Time `json:"seen"`
}

func criEventOf(e *api.ContainerEventResponse) CRIEvent {
	out := CRIEvent{Type: e.GetContainerEventType().String(), ID: e.GetContainerId(),
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
