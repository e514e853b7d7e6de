package harness

import (
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/oracle/callerr"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/exit"
	"github.com/shimquake/shimquake/oracle/inventory"
)

// History records what happened when a case ran. It has everything that the judge needs
// for the Verdict, so it can be judged again later and elsewhere. Pids are those in the
// PID namespace of the case's world.
type History struct {
	Case Case `json:"case"`
	Run
	// Instances are the containers of the workload, in the order of its text.
	Instances []Instance `json:"instances,omitempty"`
	// Bystanders are the tasks and pods that ran beside the workload.
	Bystanders []Bystander `json:"bystanders,omitempty"`
	// Log has what was observed. Its JSON form is one list in the order of time (Record).
	Log `json:"-"`
	// Firings has a proof for each fault, in the order of the plan, and then for each
	// misbehaviour of the fake shim.
	Firings []Firing `json:"firings,omitempty"`
	// Functions are the functions with probes that its processes have reached, if the
	// runner records them: "containerd runtime.binary.Start".
	Functions []string `json:"functions,omitempty"`
	// CRI has the observations of a CRI client. It is nil for other clients.
	CRI *CRISeen `json:"cri,omitempty"`
	// Before is the inventory (shims, mounts, files and so on) after containerd's start.
	Before *inventory.Inventory `json:"before,omitempty"`
	// Removal is the error of the client's last attempt to remove everything, or nil if
	// everything was removed.
	Removal *callerr.Failed `json:"removal,omitempty"`
	// After has the inventory after the client was done and everything had settled.
	After *Inspection `json:"after,omitempty"`
	// Restart is the restart of containerd before the second use of the first id, or nil if
	// there was none.
	Restart *Restart `json:"restart,omitempty"`
	// Reuse is the second use of the first id, or nil if there was none.
	Reuse *Reuse `json:"reuse,omitempty"`
	// Reference is a run of the same workload without faults on the default release. It
	// shows whether this machine can run the workload. It is nil unless the case failed and
	// no fault explains that.
	Reference *Reference `json:"reference,omitempty"`
}

// Run describes the run of a case: on what, how far and how long.
type Run struct {
	// Version is the release that the containerd under test reported.
	Version string  `json:"containerd"`
	Machine Machine `json:"machine"`
	// Reached is the last stage of the run that was reached.
	Reached Stage         `json:"reached"`
	Began   time.Time     `json:"began"`
	Took    time.Duration `json:"tookNs"`
	// CPU is the processor time of all processes in the world.
	CPU time.Duration `json:"cpuNs"`
	// Again says why the run before this one was invalid.
	Again string `json:"again,omitempty"`
	// LeftOut lists the settings that the harness leaves out of containerd's configuration
	// on this machine, with reasons.
	LeftOut []string `json:"leftOut,omitempty"`
	// Problems are the reasons why the run shows nothing, or less than a complete run.
	Problems []Problem `json:"problems,omitempty"`
	// BeforeBegan is the time at which the harness began to take the inventory Before.
	BeforeBegan time.Time `json:"beforeBegan,omitzero"`
	// Done is the time at which the client was done. Later hits come from calls of the
	// harness itself.
	Done time.Time `json:"done,omitzero"`
	// Flushed has the lengths of Events, Hits and Reported before the first id was used
	// again. It is nil if the run ended earlier.
	Flushed *Flushed `json:"flushed,omitempty"`
	// Evidence is the folder with the logs, if the evidence is kept.
	Evidence string `json:"evidence,omitempty"`
}

// Stage is a stage of a run.
type Stage string

// The stages, in their order.
const (
	// NotBegun: the case was not run.
	NotBegun Stage = ""
	// Prepared: its containerd is built, and the machine has what the case needs.
	Prepared Stage = "prepared"
	// Booted: containerd runs in the world, and responds.
	Booted Stage = "booted"
	// Underway: the client has begun with the workload.
	Underway Stage = "underway"
	// Removed: the client is done, including the removal.
	Removed Stage = "removed"
	// Inspected: the inventory after the removal was taken.
	Inspected Stage = "looked-at"
	// Completed: the second use of the first id is over, or was not needed.
	Completed Stage = "completed"
)

// Machine describes the machine on which a case ran.
type Machine struct {
	Kernel string `json:"kernel"`
	// Cgroups is v1, v2 or hybrid.
	Cgroups string `json:"cgroups"`
	CPUs    int    `json:"cpus"`
}

// Stall is a time in which processes stood still: they were stopped, or got no processor,
// or the machine was suspended.
type Stall struct {
	From time.Time     `json:"from"`
	For  time.Duration `json:"forNs"`
}

// ProblemKind is the kind of a Problem.
type ProblemKind string

// The kinds of problems.
const (
	// ByInput: the case's text is wrong, or the containerd under test lacks one of its
	// points.
	ByInput ProblemKind = "input"
	// ByMachine: the machine lacks something that the case needs.
	ByMachine ProblemKind = "machine"
	// ByBoot: containerd does not start, and a retry would not help.
	ByBoot ProblemKind = "no-boot"
	// ByBuild: the build of containerd, or of a program of the harness, failed.
	ByBuild ProblemKind = "build"
	// ByStep: the harness could not inject a fault, or could not run a step of a pause.
	ByStep ProblemKind = "step"
	// ByMiss: a fault did not happen.
	ByMiss ProblemKind = "miss"
	// ByBefore: the workload failed before the first fault.
	ByBefore ProblemKind = "before"
	// ByTruth: the real exit status of a payload is not known.
	ByTruth ProblemKind = "truth"
	// ByLook: the inventory could not be taken, because of an error of the harness.
	ByLook ProblemKind = "inventory"
	// ByHarness: the harness itself failed, hung, or lacked space or memory.
	ByHarness ProblemKind = "harness"
	// ByStall: the machine stood still, and the verdict rests on a time limit.
	ByStall ProblemKind = "stall"
	// ByEnd: the user interrupted the run.
	ByEnd ProblemKind = "interrupted"
)

// Problem is one reason why a run shows nothing, or less than a complete run.
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
	// Step is the number of the step, from 1, and Response the kind of the response. For a
	// call outside the steps, Step is 0.
	Step     int      `json:"step,omitempty"`
	Response Response `json:"response,omitempty"`
	// Verb is the called method or the verb of the step: create, kill, StopPodSandbox. Of is
	// the name of the instance, or of the script's object such as c0/e0.
	Verb string          `json:"verb"`
	Of   string          `json:"of,omitempty"`
	At   time.Time       `json:"at"`
	Took time.Duration   `json:"tookNs"`
	Err  *callerr.Failed `json:"err,omitempty"`
	// Still is the part of Took in which the world's processes had no processor.
	Still time.Duration `json:"stillNs,omitempty"`
	// Unprovoked reports that the call failed before any fault had happened, and that no
	// step of the script explains the error.
	Unprovoked bool `json:"unprovoked,omitempty"`
	// Says describes the content of the response, for people.
	Says string `json:"says,omitempty"`
}

// SentSignal is a signal that the client sent to a container's init.
type SentSignal struct {
	Container string    `json:"container"`
	Signal    int       `json:"signal"`
	At        time.Time `json:"at"`
}

// Kill records a process that the harness killed.
type Kill struct {
	PID   int       `json:"pid"`
	Start uint64    `json:"start"` // clock ticks since boot
	Who   string    `json:"who"`   // its role: shim, task, sandbox, containerd
	At    time.Time `json:"at"`
}

// IgnoredSIGTERM is a shim that still ran some time after the harness had sent it
// SIGTERM.
type IgnoredSIGTERM struct {
	PID       int           `json:"pid"`
	ID        string        `json:"id"` // of the shim
	Namespace string        `json:"namespace"`
	For       time.Duration `json:"forNs"` // how long the harness waited
}

// Exit is the exit of a process that the init process of the world reaped.
type Exit struct {
	PID  int       `json:"pid"`
	Code uint32    `json:"code"` // the exit status; 128+signal if a signal ended the process
	At   time.Time `json:"at"`
}

// Inspection is an inventory at one time, and whether containerd responded then.
type Inspection struct {
	At time.Time `json:"at"`
	// Up is the error with which containerd did not come up, or nil.
	Up *callerr.Failed `json:"up,omitempty"`
	// Asked is the error with which the inventory could not be taken, or nil.
	Asked *callerr.Failed `json:"asked,omitempty"`
	// Inventory lists everything that exists, or is nil if it could not be taken.
	Inventory *inventory.Inventory `json:"inventory,omitempty"`
	// Answer shows whether containerd responded to a simple call in time. It is nil if there
	// was no such call.
	Answer *Answer `json:"answer,omitempty"`
}

// Answer is containerd's response to a simple call. Bound is the timeout of the call.
type Answer struct {
	Took  time.Duration   `json:"tookNs"`
	Bound time.Duration   `json:"boundNs"`
	Err   *callerr.Failed `json:"err,omitempty"`
}

// Restart is the restart of containerd after the workload.
type Restart struct {
	Took  time.Duration   `json:"tookNs"`
	Bound time.Duration   `json:"boundNs"`
	Err   *callerr.Failed `json:"err,omitempty"` // set if containerd did not respond within Bound
}

// Reuse is the second use of the first container's id, or with CRI of the pod's name. It
// shows whether a leak blocks them.
type Reuse struct {
	// Brief reports that the use was limited to the steps that a leak can break.
	Brief bool            `json:"brief,omitempty"`
	Use   Use             `json:"use,omitzero"`
	Err   *callerr.Failed `json:"err,omitempty"`
	After *Inspection     `json:"after,omitempty"`
}

// Use is the lifecycle of the second use. The fields are empty after a Brief use, and
// with CRI, which gives each container a new id.
type Use struct {
	ID   string    `json:"id"`
	PID  uint32    `json:"pid"`
	Want uint32    `json:"want"` // the exit status with which its payload exits
	From time.Time `json:"from"` // the time of the first request for its task
}

// Note is an incident of the run, for people.
type Note struct {
	At   time.Time       `json:"at"`
	Who  string          `json:"who"` // client, harness, oracle
	Text string          `json:"text"`
	Err  *callerr.Failed `json:"err,omitempty"`
}

// Firing is the proof that a fault happened.
type Firing struct {
	// Fault is the fault's index in the plan, or -1 for a misbehaviour of the fake shim.
	Fault int    `json:"index"`
	Text  string `json:"fault"`
	// Count is how often the fault happened. 0 makes the verdict invalid.
	Count int `json:"count"`
	// At is the time at which the fault first happened, or at which a lasting fault began.
	// It is zero if the time is not known.
	At time.Time `json:"at,omitzero"`
	// PID is the process that got the signal of the fault, if that was one.
	PID int `json:"pid,omitempty"`
	// Proof describes the evidence: a count from the probe, a measured duration, a reaped
	// pid.
	Proof string `json:"proof"`
	// Miss is why the fault had no effect, if that is known.
	Miss Miss `json:"miss,omitempty"`
}

// DidNotFire is the Proof of a fault that did not fire for an unknown reason.
const DidNotFire = "did not fire"

// Miss is a reason why a fault had no effect.
type Miss string

// The known reasons.
const (
	// MissUnobserved: the fault ended a context, but the code did not check that context.
	MissUnobserved Miss = "context-not-observed"
	// MissAlreadyExited: the process that the fault should crash exited before by itself.
	MissAlreadyExited Miss = "already-exited"
	// MissTooFew: the processes executed the point less often than the fault needs, but at
	// least half as often.
	MissTooFew Miss = "passed-too-few-times"
)

// Flushed has the lengths of three lists of a History at one time.
type Flushed struct {
	Events   int `json:"events"`
	Hits     int `json:"hits"`
	Reported int `json:"reported"`
}

// Lengths returns the present lengths of the three lists.
func (h *History) Lengths() *Flushed {
	return &Flushed{Events: len(h.Events), Hits: len(h.Hits), Reported: len(h.Reported)}
}

// FirstUse returns the three lists as they were before the first id was used again. They
// are the whole lists if the run ended earlier.
func (h *History) FirstUse() (events []event.Task, hits []failpoints.Hit, reported []exit.Observation) {
	if h.Flushed == nil {
		return h.Events, h.Hits, h.Reported
	}
	return h.Events[:h.Flushed.Events], h.Hits[:h.Flushed.Hits], h.Reported[:h.Flushed.Reported]
}

// AnyFired reports whether any fault has happened.
func (h *History) AnyFired() bool { return h.Fired(time.Time{}) > 0 }

// Fired returns how many faults of the plan and misbehaviours of the fake shim happened
// at or before a time. The zero time means the end of the run. A fault that happened at
// an unknown time counts.
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

// Within reports whether at is not later than by. If by is zero, it means the end of the
// run.
func Within(at, by time.Time) bool { return by.IsZero() || !at.After(by) }

// Versions returns the releases that ran, in the order of their starts: the release under
// test, and the releases that the workload installed and started.
func (h *History) Versions() []string {
	all := []string{h.Version}
	for _, d := range h.Deaths {
		if d.Next != "" {
			all = append(all, d.Next)
		}
	}
	return all
}
