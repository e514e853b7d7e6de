package harness

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd/daemon"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// History records what happened when a case ran: everything that its Verdict is made of.
// It is a value, and does not refer to the machine or the world. Pids are pids of the
// world's PID namespace.
type History struct {
	Case Case `json:"case"`
	// Version is the release that the containerd under test reported.
	Version string  `json:"containerd"`
	Machine Machine `json:"machine"`
	// Reached is the last stage that the run reached.
	Reached Stage         `json:"reached"`
	Began   time.Time     `json:"began"`
	Took    time.Duration `json:"tookNs"`
	// CPU is the processor time that the world used.
	CPU time.Duration `json:"cpuNs"`
	// Load is the machine's load average per CPU over the minute before the client ended
	// (/proc/loadavg), or 0 if it is not known.
	Load float64 `json:"load,omitempty"`
	// LeftOut lists what the configuration of containerd leaves out on this machine, with
	// reasons.
	LeftOut []string `json:"leftOut,omitempty"`
	// Problems are the reasons why the run shows nothing, or not everything.
	Problems []Problem `json:"problems,omitempty"`

	// Instances are the containers of the workload, in its order.
	Instances []Instance `json:"instances,omitempty"`
	// Calls are the client's calls, in the order of their ends.
	Calls []Call `json:"calls,omitempty"`
	// Signals are the signals that the client sent.
	Signals []SentSignal `json:"signals,omitempty"`
	// Reported are the reports of exits that the client received.
	Reported []exit.Observation `json:"reported,omitempty"`

	// Firings are the proofs of the plan's faults, in its order, and then of the fake shim's
	// misbehaviours.
	Firings []Firing `json:"firings,omitempty"`
	// Hits are the hits of probes, in the order of their arrival.
	Hits []failpoints.Hit `json:"hits,omitempty"`
	// Kills are the processes that the harness killed.
	Kills []Kill `json:"kills,omitempty"`
	// Reboots are the times at which the harness rebooted the node, with an empty /run.
	Reboots []time.Time `json:"reboots,omitempty"`
	// IgnoredSIGTERM are the shims that still ran after the harness had sent them SIGTERM.
	IgnoredSIGTERM []IgnoredSIGTERM `json:"unheeded,omitempty"`
	// Stops are the periods in which the harness had frozen containerd.
	Stops []Stop `json:"stops,omitempty"`
	// Deaths are the ends of containerd. The harness started it again each time.
	Deaths []daemon.Death `json:"deaths,omitempty"`
	// Exits are the processes that the world's init reaped.
	Exits []Exit `json:"exits,omitempty"`

	// Events are containerd's events in the order of their arrival. During Gaps there was no
	// subscription.
	Events []event.Task `json:"events,omitempty"`
	Gaps   []event.Gap  `json:"gaps,omitempty"`
	// Done is the time at which the client was done. The oracle causes the later hits.
	Done time.Time `json:"done,omitzero"`
	// Flushed has the lengths of three lists after everything had settled, and before the
	// first id was used again. It is nil if the run did not get so far.
	Flushed *Flushed `json:"flushed,omitempty"`

	// Before is the inventory after containerd's start. BeforeBegan is the time at which the
	// oracle began to take it.
	Before      *inventory.Inventory `json:"before,omitempty"`
	BeforeBegan time.Time            `json:"beforeBegan,omitzero"`
	// Removal is why the client could not remove everything, or nil if it did.
	Removal *callerr.Failed `json:"removal,omitempty"`
	// After is the look at everything that the client and the faults left.
	After *Look `json:"after,omitempty"`
	// Restart is the restart of containerd before the second use of the first id, or nil if
	// there was none.
	Restart *Restart `json:"restart,omitempty"`
	// Reuse is the second use of the first id, or nil if there was none.
	Reuse *Reuse `json:"reuse,omitempty"`
	// Reference is the same workload without a fault on the default release. It runs if no
	// fault explains a failure, and is nil otherwise.
	Reference *Reference `json:"reference,omitempty"`

	// Observed are the states and lists that the client of a script asked for.
	Observed []Observed `json:"observed,omitempty"`

	// AskedWhile are the states that steps of the plan asked for.
	AskedWhile []AskedWhile `json:"askedWhile,omitempty"`

	// StandIns are processes with the pids of processes that had ended.
	StandIns []StandIn `json:"standIns,omitempty"`

	// CRI holds what a client of CRI saw. It is nil for other clients.
	CRI *CRISeen `json:"cri,omitempty"`

	// Outlived are processes of containers that still ran after the exit of their init was
	// reported. The harness looks for them if the payload has children.
	Outlived []Outlived `json:"outlived,omitempty"`
	// Belongings are the files and mounts of containers and sandboxes while they ran, before
	// and after a restart of containerd.
	Belongings []inventory.Belongings `json:"belongings,omitempty"`
	// Bystanders are the tasks and pods that ran beside the workload.
	Bystanders []Bystander `json:"bystanders,omitempty"`

	// Logged are messages that containerd logged by the time of After: all fatal messages,
	// and very frequent messages.
	Logged []Logged `json:"logged,omitempty"`

	// Notes are for people.
	Notes []Note `json:"notes,omitempty"`
	// Evidence is the folder with the logs, if the evidence is kept.
	Evidence string `json:"evidence,omitempty"`
}

// Stage is a stage of a run.
type Stage string

// The stages, in their order.
const (
	// NotBegun: the case was not run.
	NotBegun Stage = ""
	// Prepared: its containerd is built, and the machine can run it.
	Prepared Stage = "prepared"
	// Booted: containerd responds in its world.
	Booted Stage = "booted"
	// Underway: the client is at work.
	Underway Stage = "underway"
	// Removed: the client is done.
	Removed Stage = "removed"
	// LookedAt: the oracle has taken its inventory.
	LookedAt Stage = "looked-at"
	// Completed: the second use of the id is over, or was not needed.
	Completed Stage = "completed"
)

// Machine describes the machine on which a case ran.
type Machine struct {
	Kernel string `json:"kernel"`
	// Cgroups is v1, v2 or hybrid.
	Cgroups string `json:"cgroups"`
	CPUs    int    `json:"cpus"`
}

// ProblemKind is the kind of reason why a run shows nothing, or not everything.
type ProblemKind string

// The kinds of problems.
const (
	// ByInput: the case's text is wrong, or the subject lacks one of its points.
	ByInput ProblemKind = "input"
	// ByMachine: this machine lacks something that the case needs.
	ByMachine ProblemKind = "machine"
	// ByBoot: containerd does not boot, and a retry would not help.
	ByBoot ProblemKind = "no-boot"
	// ByBuild: the build of the subject, or of a part of the world, fails.
	ByBuild ProblemKind = "build"
	// ByStep: the harness could not inject a fault, or run a step of a pause.
	ByStep ProblemKind = "step"
	// ByMiss: a fault did not happen.
	ByMiss ProblemKind = "miss"
	// ByBefore: the workload failed before the first fault.
	ByBefore ProblemKind = "before"
	// ByTruth: the real exit status of a payload is not known.
	ByTruth ProblemKind = "truth"
	// ByLook: the oracle could not look, because of the harness.
	ByLook ProblemKind = "inventory"
	// ByHarness: the harness itself failed, hung, or lacked space or memory.
	ByHarness ProblemKind = "harness"
	// ByEnd: the user interrupted the run.
	ByEnd ProblemKind = "interrupted"
)

// Problem is one reason why a run shows nothing.
type Problem struct {
	Kind ProblemKind `json:"kind"`
	// Miss is why a fault had no effect, if that is known.
	Miss Miss `json:"miss,omitempty"`
	// Text is for people.
	Text string `json:"text"`
}

// Call is one call of a client.
type Call struct {
	// The caller: "client", or the client of a bystander.
	Who string `json:"who"`
	// Step is the number of the script's step, from 1, and Response the kind of the
	// response. In a workload without a script Step is 0.
	Step     int      `json:"step,omitempty"`
	Response Response `json:"response,omitempty"`
	// Verb is the called method or verb: create, kill, StopPodSandbox. Of is the name of its
	// instance, or of a script's object.
	Verb string          `json:"verb"`
	Of   string          `json:"of,omitempty"`
	At   time.Time       `json:"at"`
	Took time.Duration   `json:"tookNs"`
	Err  *callerr.Failed `json:"err,omitempty"`
	// Unprovoked reports that the call failed before any fault had happened.
	Unprovoked bool `json:"unprovoked,omitempty"`
	// Says is the content of the response, for people.
	Says string `json:"says,omitempty"`
}

// SentSignal is a signal that the client sent to a container's init.
type SentSignal struct {
	Container string    `json:"container"`
	Signal    int       `json:"signal"`
	At        time.Time `json:"at"`
}

// Kill is a process that the harness killed.
type Kill struct {
	PID   int       `json:"pid"`
	Start uint64    `json:"start"` // clock ticks since boot
	Who   string    `json:"who"`   // shim, task, sandbox, containerd
	At    time.Time `json:"at"`
}

// IgnoredSIGTERM is a shim that still ran after the harness had sent it SIGTERM.
type IgnoredSIGTERM struct {
	PID       int           `json:"pid"`
	ID        string        `json:"id"` // of the shim
	Namespace string        `json:"namespace"`
	For       time.Duration `json:"forNs"` // how long the harness waited
}

// Exit is the end of a process that the world's init reaped.
type Exit struct {
	PID  int       `json:"pid"`
	Code uint32    `json:"code"` // 128+signal when a signal ended it
	At   time.Time `json:"at"`
}

// Look is one look of the oracle, after everything has settled.
type Look struct {
	At time.Time `json:"at"`
	// Up is why containerd did not come up, or nil if it did.
	Up *callerr.Failed `json:"up,omitempty"`
	// Asked is why containerd, or the world, could not return the inventory, or nil if it
	// did.
	Asked *callerr.Failed `json:"asked,omitempty"`
	// Inventory is everything that exists, or nil if it is not available.
	Inventory *inventory.Inventory `json:"inventory,omitempty"`
	// Answer is containerd's response to a simple call, or nil if there was no such call.
	Answer *Answer `json:"answer,omitempty"`
}

// Answer is the response to a simple call.
type Answer struct {
	Took  time.Duration   `json:"tookNs"`
	Bound time.Duration   `json:"boundNs"`
	Err   *callerr.Failed `json:"err,omitempty"`
}

// Restart is a restart of containerd by the oracle.
type Restart struct {
	Took  time.Duration   `json:"tookNs"`
	Bound time.Duration   `json:"boundNs"`
	Err   *callerr.Failed `json:"err,omitempty"` // set if it does not respond within the bound
}

// Reuse is the second use of the first id.
type Reuse struct {
	// Brief reports that the use was limited to the steps that a fault can still break.
	Brief bool            `json:"brief,omitempty"`
	Use   Use             `json:"use,omitzero"`
	Err   *callerr.Failed `json:"err,omitempty"`
	After *Look           `json:"after,omitempty"`
}

// Use is a second lifecycle of an id. The ID is empty if none was used again: a pod's
// containers have new ids.
type Use struct {
	ID   string    `json:"id"`
	PID  uint32    `json:"pid"`
	Want uint32    `json:"want"` // the exit status of its payload
	From time.Time `json:"from"` // the time of the first request for its task
}

// Note is something that happened, for people.
type Note struct {
	At   time.Time       `json:"at"`
	Who  string          `json:"who"` // client, harness, oracle
	Text string          `json:"text"`
	Err  *callerr.Failed `json:"err,omitempty"`
}

// Firing is the proof that a fault happened.
type Firing struct {
	// Fault is its index in the plan, or -1 for a misbehaviour of the fake shim.
	Fault int    `json:"index"`
	Text  string `json:"fault"`
	// Count is the number of times that it happened. 0 makes the verdict invalid.
	Count int `json:"count"`
	// At is the time at which it first happened, or at which a lasting fault began. It is
	// zero if the time is not known.
	At time.Time `json:"at,omitzero"`
	// Proof is the evidence: a count from the probe, a measured duration, a reaped pid.
	Proof string `json:"proof"`
	// Miss is why the fault had no effect, if that is known.
	Miss Miss `json:"miss,omitempty"`
}

// DidNotFire is the proof of a fault that did not fire, if the reason is not known.
const DidNotFire = "did not fire"

// Miss is why a fault had no effect.
type Miss string

// The known reasons.
const (
	// MissUnobserved: the context was ended, but no code looked at it.
	MissUnobserved Miss = "context-not-observed"
	// MissAlreadyExited: the process to crash was about to exit, and exited first.
	MissAlreadyExited Miss = "already-exited"
	// MissTooFew: the point has fewer hits than the fault needs, but at least half of them.
	MissTooFew Miss = "passed-too-few-times"
)

// Flushed has the lengths of three lists at one time.
type Flushed struct {
	Events   int `json:"events"`
	Hits     int `json:"hits"`
	Reported int `json:"reported"`
}

// FirstUse returns the three lists as they were before the first id was used again. The
// lists may be incomplete if the run did not settle.
func (h *History) FirstUse() (events []event.Task, hits []failpoints.Hit, reported []exit.Observation) {
	if h.Flushed == nil {
		return h.Events, h.Hits, h.Reported
	}
	return h.Events[:h.Flushed.Events], h.Hits[:h.Flushed.Hits], h.Reported[:h.Flushed.Reported]
}

// AnyFired reports whether any fault has happened.
func (h *History) AnyFired() bool { return h.Fired(time.Time{}) > 0 }

// Fired returns how many faults of the plan and misbehaviours of the fake shim had
// happened by a time. The zero time stands for the end of the run. A fault without a
// noted time counts.
func (h *History) Fired(by time.Time) int {
	n, counted := 0, map[int]bool{}
	for _, f := range h.Firings {
		if f.Count > 0 && Within(f.At, by) {
			n++
			counted[f.Fault] = true
		}
	}
	for _, hit := range h.Hits {
		if hit.Fault >= 0 && !counted[hit.Fault] && Within(hit.Time, by) {
			n++
			counted[hit.Fault] = true
		}
	}
	return n
}

// Within reports whether something happened by a time. The zero time stands for the end
// of the run.
func Within(at, by time.Time) bool { return by.IsZero() || !at.After(by) }

// MayHaveBegun reports whether a fault of the plan of some sort may have happened by a
// time. A fault without a noted time may have.
func (h *History) MayHaveBegun(by time.Time, sort func(failpoints.Fault) bool) bool {
	for i, fault := range h.Case.Plan {
		if !sort(fault) {
			continue
		}
		at := slices.IndexFunc(h.Firings, func(f Firing) bool { return f.Fault == i })
		if at < 0 || !h.Firings[at].At.After(by) {
			return true
		}
	}
	return false
}

// Versions returns the releases that ran, in their order: the release under test, and the
// releases that the workload installed and started.
func (h *History) Versions() []string {
	all := []string{h.Version}
	for _, d := range h.Deaths {
		if d.Next != "" {
			all = append(all, d.Next)
		}
	}
	return all
}
