package harness

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// CRISeen holds the observations of a client of CRI. They are all reports about the
// workload's pod and its containers, and the inventories of the running pod.
type CRISeen struct {
	// Done are the calls that CRI reported as done.
	Done []CRIDone `json:"done,omitempty"`
	// Statuses are CRI's responses about containers, without repetitions. Sandboxes are
	// the responses about the sandbox, when it ran and when it was stopped.
	Statuses  []criview.Status `json:"statuses,omitempty"`
	Sandboxes []SandboxSeen    `json:"sandboxes,omitempty"`
	// Unanswered are the sandboxes that the client found in a list and that no response
	// had named.
	Unanswered []SandboxSeen `json:"unanswered,omitempty"`
	// NotStarted are CRI's responses about containers after a failed StartContainer: at
	// once, and after a restart.
	NotStarted []criview.Status `json:"notStarted,omitempty"`
	// Events are CRI's container events in the order of their arrival, until the first id
	// was used again. NoEvents: the release has none.
	Events   []criview.Event `json:"events,omitempty"`
	NoEvents bool            `json:"noEvents,omitempty"`
	// Second holds the events that a second client received. It exists in cases without a
	// fault, with a release that sends the events to all clients.
	Second *CRISecond `json:"second,omitempty"`
	// Pod is the inventory when the sandbox ran, only with the containers that stay
	// through a crash loop. Rounds are the inventories after each round of the loop.
	Pod    *inventory.Inventory `json:"pod,omitempty"`
	Rounds []Round              `json:"rounds,omitempty"`
	// Listed are the ids in CRI's lists when the removals of the client have settled.
	Listed *CRIListed `json:"listed,omitempty"`
	// States are the states in CRI's lists when the containers of a round have ended.
	States []CRIState `json:"states,omitempty"`
	// Names are CRI's responses to requests with a name that must be free, or taken.
	Names []CRIName `json:"names,omitempty"`
}

// CRISecond holds the events that a second client of GetContainerEvents received.
type CRISecond struct {
	// Since is the time of its request for events. It receives them from a later, unknown
	// time on.
	Since  time.Time       `json:"since"`
	Events []criview.Event `json:"events,omitempty"`
	Err    *callerr.Failed `json:"err,omitempty"` // the error that ended its stream
}

// PodName is the name of the workload's pod.
const PodName = "pod"

// CRIState is a state in CRI's lists, from which a kubelet learns of ends.
type CRIState struct {
	Object string `json:"object"` // container or sandbox
	ID     string `json:"id"`
	State  string `json:"state,omitempty"` // as the API names it; "": it is not listed
	// Stopped is set if StopPodSandbox had succeeded before. The client then asked until
	// the sandbox was no longer ready, or for 2 s.
	Stopped bool `json:"stopped,omitempty"`
	// At is the time of the request, Answered the time of the response.
	At       time.Time `json:"at"`
	Answered time.Time `json:"answered"`
}

// CRIName is CRI's response to a request with a name that must be free again, or taken.
// The request always fails, because its runtime or image does not exist. If the name is
// still reserved, the error is about the name.
type CRIName struct {
	Object string          `json:"object"` // pod or container
	Err    *callerr.Failed `json:"err"`
	// Taken is set if a container or a pod had that name, so that it must not be free. At
	// is the time of the request.
	Taken bool      `json:"taken,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// CRIDone is a call of CRI that has succeeded.
type CRIDone struct {
	Verb string    `json:"verb"` // StartContainer
	ID   string    `json:"id"`   // of the container or the sandbox
	At   time.Time `json:"at"`   // of the response
}

// SandboxSeen is a response of PodSandboxStatus.
type SandboxSeen struct {
	ID    string `json:"id"`
	State string `json:"state,omitempty"` // as the API names it: SANDBOX_READY
	// Err is the error, if CRI returned one.
	Err *callerr.Failed `json:"err,omitempty"`
	// Stopped is set if StopPodSandbox had succeeded before. Otherwise the sandbox should
	// run.
	Stopped bool `json:"stopped,omitempty"`
	// IP is the pod's address; "" if it uses the world's own network.
	IP      string    `json:"ip,omitempty"`
	Created time.Time `json:"created,omitzero"` // as CRI reports it
	// At is the time of the request, Answered the time of the response. The response may
	// show a fault in between.
	At       time.Time `json:"at"`
	Answered time.Time `json:"answered"`
}

// Round is the end of a round of a crash loop: its containers were removed, and their
// pod keeps running.
type Round struct {
	// Number counts from 1.
	Number int        `json:"number"`
	Look   Look       `json:"inventory"`
	Listed *CRIListed `json:"listed,omitempty"`
}

// CRIListed are the ids that ListPodSandbox and ListContainers name.
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

// When returns the time of the first successful response to a call for an id.
func (s *CRISeen) When(verb, id string) (time.Time, bool) {
	for _, d := range s.Done {
		if d.Verb == verb && d.ID == id {
			return d.At, true
		}
	}
	return time.Time{}, false
}

// Made reports whether the client heard that CRI has made a container or a sandbox.
func (s *CRISeen) Made(id string) bool {
	_, sandbox := s.When("RunPodSandbox", id)
	_, container := s.When("CreateContainer", id)
	return sandbox || container ||
		slices.ContainsFunc(s.Events, func(e criview.Event) bool { return e.ID == id && e.Type == criview.Created })
}
