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

// History is what happened when a case ran: all that its Verdict is made of. It is a
// value: nothing in it depends on the machine or the world any more. Pids are those of
// the world's PID namespace.
type History struct {
	Case Case `json:"case"`
	// Version is the release that the containerd under test reported.
	Version string  `json:"containerd"`
	Machine Machine `json:"machine"`
	// Reached is how far the run came.
	Reached Stage         `json:"reached"`
	Began   time.Time     `json:"began"`
	Took    time.Duration `json:"tookNs"`
	// CPU is the processor time that the world has used.
	CPU time.Duration `json:"cpuNs"`
	// Load is how many processes a CPU of this machine had to do with, on average of the
	// minute before the client came to its end (/proc/loadavg); 0: that is not known.
	Load float64 `json:"load,omitempty"`
	// LeftOut is what this machine's configuration of containerd leaves out, with reasons.
	LeftOut []string `json:"leftOut,omitempty"`
	// Problems are what kept the run from showing anything.
	Problems []Problem `json:"problems,omitempty"`

	// Instances are the containers of the workload, in its order.
	Instances []Instance `json:"instances,omitempty"`
	// Calls are those of the client, in the order of their ends.
	Calls []Call `json:"calls,omitempty"`
	// Signals are those that the client sent.
	Signals []SentSignal `json:"signals,omitempty"`
	// Reported is what the client heard of exits.
	Reported []exit.Observation `json:"reported,omitempty"`

	// Firings are the proofs of the plan's faults, in its order, and then of the fake shim's
	// misbehaviours.
	Firings []Firing `json:"firings,omitempty"`
	// Hits are the passings of probes, in the order in which they arrived.
	Hits []failpoints.Hit `json:"hits,omitempty"`
	// Kills are the processes that the harness has killed.
	Kills []Kill `json:"kills,omitempty"`
	// Reboots are when the harness had the node start anew, with nothing in /run.
	Reboots []time.Time `json:"reboots,omitempty"`
	// Unheeded are the shims that did not end when they were asked to.
	Unheeded []Unheeded `json:"unheeded,omitempty"`
	// Stops are when the harness made containerd stand still.
	Stops []Stop `json:"stops,omitempty"`
	// Deaths are the ends of containerd; each was started again.
	Deaths []daemon.Death `json:"deaths,omitempty"`
	// Exits are the processes that the world's init has reaped.
	Exits []Exit `json:"exits,omitempty"`

	// Events are containerd's, in the order of their arrival; in Gaps nobody was subscribed.
	Events []event.Task `json:"events,omitempty"`
	Gaps   []event.Gap  `json:"gaps,omitempty"`
	// Done is when the client was done: what is passed afterwards is the oracle's doing.
	Done time.Time `json:"done,omitzero"`
	// Flushed is how much had come of three lists when all of that had settled, before the
	// id was used again; nil where the run did not come so far.
	Flushed *Flushed `json:"flushed,omitempty"`

	// Before is what there was when containerd had started; BeforeBegan is when that was
	// asked for.
	Before      *inventory.Inventory `json:"before,omitempty"`
	BeforeBegan time.Time            `json:"beforeBegan,omitzero"`
	// Removal is why the client could not remove everything; nil when it did.
	Removal *callerr.Failed `json:"removal,omitempty"`
	// After is the look at what the client and the faults have left.
	After *Look `json:"after,omitempty"`
	// Restart is that of containerd before the first id is used again; nil when there was
	// none.
	Restart *Restart `json:"restart,omitempty"`
	// Reuse is the second use of the first id; nil when there was none.
	Reuse *Reuse `json:"reuse,omitempty"`
	// Reference is the same workload without a fault on the default release, run where
	// something has failed that no fault explains; nil when there was no need.
	Reference *Reference `json:"reference,omitempty"`

	// Observed are the states and lists that the client of a script has asked for.
	Observed []Observed `json:"observed,omitempty"`

	// AskedWhile are the states that steps of the plan asked for.
	AskedWhile []AskedWhile `json:"askedWhile,omitempty"`

	// StandIns are processes that had the pids of processes that have ended.
	StandIns []StandIn `json:"standIns,omitempty"`

	// CRI is what a client of CRI has seen; nil for every other.
	CRI *CRISeen `json:"cri,omitempty"`

	// Outlived are processes of containers that ran on when the exit of their init had been
	// reported; they are looked for where the payload has children.
	Outlived []Outlived `json:"outlived,omitempty"`
	// Belongings are what containers and sandboxes had while they lived, before and after
	// a restart of containerd.
	Belongings []inventory.Belongings `json:"belongings,omitempty"`
	// Bystanders are what ran beside the workload, where the case has it so.
	Bystanders []Bystander `json:"bystanders,omitempty"`

	// Logged are the messages that containerd has logged by the time of After: all after
	// which it cannot go on, and those that are there very often.
	Logged []Logged `json:"logged,omitempty"`

	// Notes are for people.
	Notes []Note `json:"notes,omitempty"`
	// Evidence is the folder with the logs, of a case whose evidence is kept.
	Evidence string `json:"evidence,omitempty"`
}

// Stage is how far a run came.
type Stage string

// The stages, in their order.
const (
	NotBegun  Stage = ""          // the case was not run
	Prepared  Stage = "prepared"  // its containerd is built, and the machine can run it
	Booted    Stage = "booted"    // containerd answers in its world
	Underway  Stage = "underway"  // the client is at work
	Removed   Stage = "removed"   // the client is done
	LookedAt  Stage = "looked-at" // what is left was looked at
	Completed Stage = "completed" // the id was used again, or needed not be
)

// Machine is where a case ran.
type Machine struct {
	Kernel string `json:"kernel"`
	// Cgroups is v1, v2 or hybrid.
	Cgroups string `json:"cgroups"`
	CPUs    int    `json:"cpus"`
}

// ProblemKind is why a run shows nothing, or not all.
type ProblemKind string

// The kinds of problems.
const (
	ByInput   ProblemKind = "input"       // the case cannot be run: its text, or a point that the subject lacks
	ByMachine ProblemKind = "machine"     // this machine lacks what the case takes
	ByBoot    ProblemKind = "no-boot"     // containerd does not boot: it will not the next time either
	ByBuild   ProblemKind = "build"       // the subject, or a part of the world, cannot be built
	ByStep    ProblemKind = "step"        // a fault, or a step of a pause, could not be done
	ByMiss    ProblemKind = "miss"        // a fault did not happen
	ByBefore  ProblemKind = "before"      // the workload failed before anything was broken
	ByTruth   ProblemKind = "truth"       // how a payload really ended is not known
	ByLook    ProblemKind = "look"        // the oracle could not look, for a reason of ours
	ByHarness ProblemKind = "harness"     // the harness itself failed, stood still, or lacked space or memory
	ByEnd     ProblemKind = "interrupted" // the run was ended
)

// Problem is one reason why a run shows nothing.
type Problem struct {
	Kind ProblemKind `json:"kind"`
	// Miss is what the fault came to that came to nothing, where it is known.
	Miss Miss `json:"miss,omitempty"`
	// Text is for people.
	Text string `json:"text"`
}

// Call is one call of a client.
type Call struct {
	// Who is client, or that of a bystander.
	Who string `json:"who"`
	// Step is the number of the script's step, from 1, and Response the kind of the
	// response. In a workload without a script Step is 0.
	Step     int      `json:"step,omitempty"`
	Response Response `json:"response,omitempty"`
	// Verb is what was called: create, kill, StopPodSandbox; Of is the instance's name, if
	// it was of one, or a script's object.
	Verb string          `json:"verb"`
	Of   string          `json:"of,omitempty"`
	At   time.Time       `json:"at"`
	Took time.Duration   `json:"tookNs"`
	Err  *callerr.Failed `json:"err,omitempty"`
	// Unprovoked reports of a call that failed that no fault had happened by then.
	Unprovoked bool `json:"unprovoked,omitempty"`
	// Says is what was answered, for people.
	Says string `json:"says,omitempty"`
}

// SentSignal is a signal that the client sent to a container's init.
type SentSignal struct {
	Container string    `json:"container"`
	Signal    int       `json:"signal"`
	At        time.Time `json:"at"`
}

// Kill is a process that the harness has ended by a signal.
type Kill struct {
	PID   int       `json:"pid"`
	Start uint64    `json:"start"` // clock ticks since boot
	Who   string    `json:"who"`   // shim, task, sandbox, containerd
	At    time.Time `json:"at"`
}

// Unheeded is a SIGTERM that its process was still there after.
type Unheeded struct {
	PID       int           `json:"pid"`
	ID        string        `json:"id"` // of the shim
	Namespace string        `json:"namespace"`
	For       time.Duration `json:"forNs"` // how long it was waited for
}

// Exit is the end of a process that the world's init has reaped.
type Exit struct {
	PID  int       `json:"pid"`
	Code uint32    `json:"code"` // 128+signal when a signal ended it
	At   time.Time `json:"at"`
}

// Look is one look of the oracle, when everything has settled.
type Look struct {
	At time.Time `json:"at"`
	// Up is why containerd did not come up to be asked; nil when it did.
	Up *callerr.Failed `json:"up,omitempty"`
	// Asked is why containerd, or the world, could not tell what there is; nil when it
	// could.
	Asked *callerr.Failed `json:"asked,omitempty"`
	// Inventory is what there is; nil when it could not be seen.
	Inventory *inventory.Inventory `json:"inventory,omitempty"`
	// Answer is containerd's to a simple question; nil when it was not asked.
	Answer *Answer `json:"answer,omitempty"`
}

// Answer is one to a simple question.
type Answer struct {
	Took  time.Duration   `json:"tookNs"`
	Bound time.Duration   `json:"boundNs"`
	Err   *callerr.Failed `json:"err,omitempty"`
}

// Restart is one of containerd by the oracle.
type Restart struct {
	Took  time.Duration   `json:"tookNs"`
	Bound time.Duration   `json:"boundNs"`
	Err   *callerr.Failed `json:"err,omitempty"` // it does not answer within the bound
}

// Reuse is the second use of the first id.
type Reuse struct {
	// Brief reports that only the parts were used that a fault can still be in the way of.
	Brief bool            `json:"brief,omitempty"`
	Use   Use             `json:"use,omitzero"`
	Err   *callerr.Failed `json:"err,omitempty"`
	After *Look           `json:"after,omitempty"`
}

// Use is a whole lifecycle of an id that was used before; its ID is empty where there was
// none: a pod's containers have new ones.
type Use struct {
	ID   string    `json:"id"`
	PID  uint32    `json:"pid"`
	Want uint32    `json:"want"` // what its payload ends with
	From time.Time `json:"from"` // when its task was asked for
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
	// Count is how often it happened; 0 makes the verdict invalid.
	Count int `json:"count"`
	// At is when it first happened; of what is in force from then on, when that began. The
	// zero time: nobody has noted it.
	At time.Time `json:"at,omitzero"`
	// Proof says how that is known: a count from the probe, a measured duration, a reaped
	// pid.
	Proof string `json:"proof"`
	// Miss says of one that came to nothing why, where that is known.
	Miss Miss `json:"miss,omitempty"`
}

// DidNotFire is the proof of a fault of which nothing else is known.
const DidNotFire = "did not fire"

// Miss is why a fault came to nothing.
type Miss string

// The misses that are known.
const (
	// MissUnobserved is a context that was ended, and at which nobody looked.
	MissUnobserved Miss = "context-not-observed"
	// MissAlreadyExited is a crash of a process that was about to end, and did so first.
	MissAlreadyExited Miss = "already-exited"
	// MissTooFew is a point that was passed, half as often as the fault waits for at least.
	MissTooFew Miss = "passed-too-few-times"
)

// Flushed is how many members lists had by then.
type Flushed struct {
	Events   int `json:"events"`
	Hits     int `json:"hits"`
	Reported int `json:"reported"`
}

// FirstUse are those lists as they were before the first id was used again. Where nothing
// has settled something may still be missing of them; what is there is so.
func (h *History) FirstUse() (events []event.Task, hits []failpoints.Hit, reported []exit.Observation) {
	if h.Flushed == nil {
		return h.Events, h.Hits, h.Reported
	}
	return h.Events[:h.Flushed.Events], h.Hits[:h.Flushed.Hits], h.Reported[:h.Flushed.Reported]
}

// AnyFired reports whether any fault has happened.
func (h *History) AnyFired() bool { return h.Fired(time.Time{}) > 0 }

// Fired is how many faults of the plan, and misbehaviours of the fake shim, have happened
// by then; the zero time stands for the end. One whose time nobody has noted may have.
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

// Within reports whether something had happened by then; the zero time stands for the end
// of the run.
func Within(at, by time.Time) bool { return by.IsZero() || !at.After(by) }

// MayHaveBegun reports whether a fault of the plan of that sort may have happened by
// then: one whose time nobody has noted may have.
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
