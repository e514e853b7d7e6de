package harness

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/criview"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// CRISeen is what a client of CRI has seen: all that CRI said of the workload's pod and
// its containers, and what was left in the pod while it lived.
type CRISeen struct {
	// Done is what CRI said that it has done.
	Done []CRIDone `json:"done,omitempty"`
	// Statuses are CRI's answers about containers, each that says something new; Sandboxes
	// those about the sandbox, when it ran and when it was stopped.
	Statuses  []criview.Status `json:"statuses,omitempty"`
	Sandboxes []SandboxSeen    `json:"sandboxes,omitempty"`
	// Unanswered are those that the client found in a list, and of which no call had told.
	Unanswered []SandboxSeen `json:"unanswered,omitempty"`
	// NotStarted are its answers about containers whose StartContainer has failed: just
	// then, and after a restart.
	NotStarted []criview.Status `json:"notStarted,omitempty"`
	// Events are CRI's container events in the order of their arrival, until the first id
	// was used again. NoEvents: the release has none.
	Events   []criview.Event `json:"events,omitempty"`
	NoEvents bool            `json:"noEvents,omitempty"`
	// Second is what another client was told that asked for the same events beside, in
	// cases without a fault, of a release that tells all who ask.
	Second *CRISecond `json:"second,omitempty"`
	// Pod is what there was when the sandbox ran, and no container of it but those that stay
	// through a crash loop; Rounds what there was after each round of that.
	Pod    *inventory.Inventory `json:"pod,omitempty"`
	Rounds []Round              `json:"rounds,omitempty"`
	// Listed is what CRI lists when everything has settled that the client has removed.
	Listed *CRIListed `json:"listed,omitempty"`
	// States are those that CRI's lists have when the containers of a round have ended.
	States []CRIState `json:"states,omitempty"`
	// Names are what CRI answers to whoever would use a name again that must be free.
	Names []CRIName `json:"names,omitempty"`
}

// CRISecond is what a second client of GetContainerEvents was told.
type CRISecond struct {
	// Since is when it has asked for events: it is told them from a moment later on, which
	// nobody knows.
	Since  time.Time       `json:"since"`
	Events []criview.Event `json:"events,omitempty"`
	Err    *callerr.Failed `json:"err,omitempty"` // why it is told no more
}

// PodName is the name of the workload's pod.
const PodName = "pod"

// CRIState is a state as CRI lists it: a kubelet learns from its lists what has ended.
type CRIState struct {
	Object string `json:"object"` // container or sandbox
	ID     string `json:"id"`
	State  string `json:"state,omitempty"` // as the API names it; "": it is not listed
	// Stopped reports of a sandbox that StopPodSandbox had succeeded before, and that the
	// client has asked until it was ready no more, or for 2 s.
	Stopped bool `json:"stopped,omitempty"`
	// At is when it was asked, Answered when it had answered.
	At       time.Time `json:"at"`
	Answered time.Time `json:"answered"`
}

// CRIName is CRI's answer to a request with a name that must be free again, or taken.
// What is asked for cannot be made (there is no such runtime, or image), so that an error
// always comes of it: that of the name, where it is still reserved, is the first.
type CRIName struct {
	Object string          `json:"object"` // pod or container
	Err    *callerr.Failed `json:"err"`
	// Taken reports that there was a container or a pod of that name, so that it must not be
	// free; At is when CRI was asked.
	Taken bool      `json:"taken,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// CRIDone is a call of CRI that has succeeded.
type CRIDone struct {
	Verb string    `json:"verb"` // StartContainer
	ID   string    `json:"id"`   // of the container or the sandbox
	At   time.Time `json:"at"`   // when it was answered
}

// SandboxSeen is an answer of PodSandboxStatus.
type SandboxSeen struct {
	ID    string `json:"id"`
	State string `json:"state,omitempty"` // as the API names it: SANDBOX_READY
	// Err is why CRI could not say it.
	Err *callerr.Failed `json:"err,omitempty"`
	// Stopped reports that StopPodSandbox had succeeded before; else it was to run.
	Stopped bool `json:"stopped,omitempty"`
	// IP is the pod's address; "" of one in the world's own network.
	IP      string    `json:"ip,omitempty"`
	Created time.Time `json:"created,omitzero"` // as CRI says it
	// At is when it was asked, Answered when it had answered: the answer may come of a fault
	// in between.
	At       time.Time `json:"at"`
	Answered time.Time `json:"answered"`
}

// Round is the end of a round of a crash loop: its containers were removed, and their pod
// lives on.
type Round struct {
	// Number counts from 1.
	Number int        `json:"number"`
	Look   Look       `json:"look"`
	Listed *CRIListed `json:"listed,omitempty"`
}

// CRIListed are the ids that ListPodSandbox and ListContainers name.
type CRIListed struct {
	At         time.Time       `json:"at"`
	Sandboxes  []string        `json:"sandboxes,omitempty"`
	Containers []string        `json:"containers,omitempty"`
	Err        *callerr.Failed `json:"err,omitempty"` // why CRI could not be asked
}

// Clone shares no list with s.
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

// When is when CRI said for the first time that it has done a call for an id.
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
