package harness

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// CRISeen has what a CRI client learned about the workload's pod and its containers, and
// the inventories of the running pod. The JSON form has its lists in the log (Record).
type CRISeen struct {
	// Done has the calls that succeeded.
	Done []CRIDone `json:"-"`
	// Statuses are the responses of ContainerStatus, without repetitions. Sandboxes are the
	// responses of PodSandboxStatus for the running and the stopped sandbox.
	Statuses  []criview.Status `json:"-"`
	Sandboxes []SandboxSeen    `json:"-"`
	// Unanswered has the sandboxes that the client found in a list, because the response to
	// its RunPodSandbox was lost.
	Unanswered []SandboxSeen `json:"-"`
	// NotStarted has CRI's statuses of containers after a failed StartContainer: one at
	// once, and one after a restart of containerd.
	NotStarted []criview.Status `json:"-"`
	// Events are CRI's container events in the order of arrival, before the second use of
	// the pod's name. NoEvents means that the release has no such events.
	Events   []criview.Event `json:"-"`
	NoEvents bool            `json:"noEvents,omitempty"`
	// Second has the events that a second client received. It is nil in a case with faults,
	// and for a release that sends each event to one client only.
	Second *CRISecond `json:"second,omitempty"`
	// A crash loop is a script that repeats some containers in one pod. Pod is the inventory
	// before its first round, and Rounds has the inventory after each round.
	Pod    *inventory.Inventory `json:"pod,omitempty"`
	Rounds []Round              `json:"rounds,omitempty"`
	// Listed has the ids in CRI's lists after the client's removals, when nothing changes
	// any more.
	Listed *CRIListed `json:"listed,omitempty"`
	// States has the listed states of the pod and its containers, each time containers have
	// ended.
	States []CRIState `json:"-"`
	// Names has CRI's responses to requests with a name that must be free, or must be taken.
	Names []CRIName `json:"-"`
}

// CRISecond has the events that a second client of GetContainerEvents received.
type CRISecond struct {
	// Since is the time of the request. The client receives the events from a later, unknown
	// time on.
	Since  time.Time       `json:"since"`
	Events []criview.Event `json:"events,omitempty"`
	Err    *callerr.Failed `json:"err,omitempty"` // the error that ended its stream
}

// PodName is the name of the workload's pod.
const PodName = "pod"

// CRIState is a state in the lists of CRI. A kubelet learns from such a list that a
// container has ended.
type CRIState struct {
	Object string `json:"object"` // container or sandbox
	ID     string `json:"id"`
	State  string `json:"state,omitempty"` // as the API names it, or "" if the list has no such id
	// Stopped is set if StopPodSandbox had succeeded before. The client then repeated the
	// list until the sandbox was no longer ready, or for 2 s.
	Stopped bool `json:"stopped,omitempty"`
	// At is the time of the request, Answered the time of the response.
	At       time.Time `json:"at"`
	Answered time.Time `json:"answered"`
}

// CRIName is CRI's response to a request that shows whether a name is free. The request
// always fails, because it names a runtime or an image that does not exist. If the name
// is still reserved, the error is about the name instead.
type CRIName struct {
	Object string          `json:"object"` // pod or container
	Err    *callerr.Failed `json:"err"`
	// Taken is set if a container or pod had the name, so that CRI must refuse it. At is the
	// time of the request.
	Taken bool      `json:"taken,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// CRIDone is a successful call of CRI.
type CRIDone struct {
	Verb string    `json:"verb"` // such as StartContainer
	ID   string    `json:"id"`   // of the container or the sandbox
	At   time.Time `json:"at"`   // of the response
}

// SandboxSeen is a response of PodSandboxStatus.
type SandboxSeen struct {
	ID    string `json:"id"`
	State string `json:"state,omitempty"` // as the API names it, such as SANDBOX_READY
	// Err is the error, if CRI returned one.
	Err *callerr.Failed `json:"err,omitempty"`
	// Stopped is set if StopPodSandbox had succeeded before. If not, the sandbox should be
	// ready.
	Stopped bool `json:"stopped,omitempty"`
	// IP is the pod's address, or "" if the pod uses the network of the node.
	IP      string    `json:"ip,omitempty"`
	Created time.Time `json:"created,omitzero"` // as CRI reports it
	// At is the time of the request, Answered the time of the response. The response may
	// already show the effect of a fault between these times.
	At       time.Time `json:"at"`
	Answered time.Time `json:"answered"`
}

// Round is the end of a round of a crash loop. The containers of the round were removed,
// and their pod keeps running.
type Round struct {
	// Number counts from 1.
	Number     int        `json:"number"`
	Inspection Inspection `json:"inventory"`
	Listed     *CRIListed `json:"listed,omitempty"`
}

// CRIListed has the ids in the responses of ListPodSandbox and ListContainers.
type CRIListed struct {
	At         time.Time       `json:"at"`
	Sandboxes  []string        `json:"sandboxes,omitempty"`
	Containers []string        `json:"containers,omitempty"`
	Err        *callerr.Failed `json:"err,omitempty"` // the error of the lists
}

// Clone returns a copy that shares no list with s.
func (s *CRISeen) Clone() *CRISeen {
	if s == nil {
		return nil
	}
	c := *s
	c.Done, c.Statuses, c.Sandboxes = slices.Clone(s.Done), slices.Clone(s.Statuses), slices.Clone(s.Sandboxes)
	c.Events, c.Rounds, c.Names = slices.Clone(s.Events), slices.Clone(s.Rounds), slices.Clone(s.Names)
	c.States, c.Unanswered = slices.Clone(s.States), slices.Clone(s.Unanswered)
	if s.Second != nil {
		second := *s.Second
		second.Events = slices.Clone(second.Events)
		c.Second = &second
	}
	return &c
}

// DoneAt returns the time of the first successful response to a call for an id.
func (s *CRISeen) DoneAt(verb, id string) (time.Time, bool) {
	for _, d := range s.Done {
		if d.Verb == verb && d.ID == id {
			return d.At, true
		}
	}
	return time.Time{}, false
}

// Knows reports whether a response or an event told the client that a container or
// sandbox with this id exists.
func (s *CRISeen) Knows(id string) bool {
	_, sandbox := s.DoneAt("RunPodSandbox", id)
	_, container := s.DoneAt("CreateContainer", id)
	return sandbox || container ||
		slices.ContainsFunc(s.Events, func(e criview.Event) bool { return e.ID == id && e.Type == criview.Created })
}
