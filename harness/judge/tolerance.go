package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
)

// cell says which effects of a kind excuse a statement, by their time or by their
// process.
type cell int

const (
	always   cell = iota + 1 // all effects.
	before                   // effects that began before the end of the statement's span.
	inTest                   // effects that began before the client was done.
	overlaps                 // effects that overlap the statement's span.
	soon                     // effects that overlap the span, or begin at most lag later.
	around                   // effects that overlap the span, or are at most lag away from it.
)

// The processes of a cell. A cell with one of them lets only effects on this process
// excuse the statement.
const (
	ofProcess cell = 1 << (iota + 4) // the process itself.
	ofItsShim                        // a shim that served the container.
	times     = ofProcess - 1
)

// lag is how late the effect of a signal may be seen, and how much later a call may fail
// because of the signal.
const lag = time.Second

// statement is a statement about containerd, a shim or a client that a rule checks. It
// has the kinds of effects that excuse it if it does not hold.
type statement map[kind]cell

// The statements that need not hold after some effects of faults.
var (
	// A shim notices the end of a process at once.
	exitNoticed = statement{shimKilled: ofItsShim, shimHeld: always, slowed: always, frozen: always, shimFaked: always}
	// A shim that runs sends each event, until containerd takes it.
	eventSent = statement{shimKilled: ofItsShim, slowed: always, frozen: always, shimFaked: always}
	// The harness gets each event. Its subscriber may see the end of its stream later than
	// containerd's exit.
	eventHeard = statement{containerdDown: overlaps, notSubscribed: overlaps}
	// A shim lives until it has sent each event once.
	firstTrySent = statement{shimKilled: ofItsShim | before}
	// All reports of an exit have the same time.
	exitTimeSame = statement{
		shimBroken: always, shimFaked: always, kernelSlow: before,
		callHeld: before, callBroken: before, statementBroken: before,
	}
	// containerd has stored what it reported. A kill excuses nothing here, because
	// containerd stores a state before it reports it.
	reportWritten = statement{
		kernelSlow: overlaps, callHeld: overlaps, callBroken: overlaps, statementBroken: overlaps,
		shimFaked: always,
	}
	// Nothing but the client ends or removes an object.
	objectKept = statement{
		kernelSlow: before, callHeld: before, callBroken: before, statementBroken: before, shimFaked: always,
		processKilled: before, shimKilled: before,
	}
	// containerd reports the state of an object.
	stateReported = statement{
		kernelSlow: before, procFault: before, callHeld: before, callBroken: before, statementBroken: before,
		crashed: before, containerdLost: before, shimFaked: always,
	}
	// Each line of an output is read.
	outputRead = statement{
		containerdDown: overlaps, shimKilled: ofItsShim, slowed: always, frozen: always, diskSlow: always,
		statementBroken: inTest,
	}
	// Each line of an input is read.
	inputRead = statement{
		processKilled: ofProcess, shimKilled: ofItsShim, slowed: always, frozen: always, diskSlow: always,
		statementBroken: inTest,
	}
	// A stream of CRI stays connected.
	streamWorks = statement{
		containerdDown: soon, processKilled: ofProcess, shimKilled: ofItsShim, slowed: always, frozen: always,
		diskSlow: always, crashed: before, callBroken: before, statementBroken: inTest, shimFaked: always,
	}
	// ExecSync responds as it should.
	execWorks = statement{
		containerdDown: soon, processKilled: ofProcess, shimKilled: ofItsShim, slowed: always, frozen: always,
		diskSlow: always, crashed: before, callBroken: before, statementBroken: before, shimFaked: always,
	}
	// A Wait returns after the exit.
	waitReturns = statement{
		containerdDown: overlaps, slowed: always, frozen: always, diskSlow: always, responseKept: always,
		shimFaked: always,
	}
	// A request for the state gets a response.
	stateAnswered = statement{containerdDown: overlaps, slowed: always, frozen: always}
	// A shim exits with 0.
	shimExitsWell = statement{processKilled: ofProcess, shimPlanned: always, shimFaked: always}
	// A call about a bystander works.
	besideWorks = statement{containerdDown: around, containerdEnds: overlaps, frozen: around, diskSlow: always}
	// Only the process itself or its client ends a process.
	processLives = statement{processKilled: ofProcess, shimKilled: ofItsShim, shimFaked: always}
	// Nothing but the exec itself or its client ends it before its exit is reported.
	execLives = statement{processKilled: ofProcess | before, shimKilled: ofItsShim | before}
	// Only the client ends a process by SIGKILL.
	onlyClientKills = statement{processKilled: always, shimKilled: inTest}
	// A successful stop has ended its container.
	stopEnds = statement{processKilled: always, containerdDown: overlaps}
	// The shim's record of an exit stays until the exit is reported.
	exitKnown = statement{nodeRebooted: overlaps}
	// A container event has the status of its pod and containers.
	criEventWhole = statement{anyFault: always, containerdDown: always}
	// containerd has the same plugins as in the first inventory.
	pluginsKept = statement{statementBroken: before, callBroken: before, callHeld: before, crashed: before}
	// containerd collects garbage in time.
	collected = statement{containerdFroze: always, kernelSlow: before}
	// A call takes about as long as the others.
	inTime = statement{anyFault: always, containerdDown: overlaps}
	// No process is frozen if a step of the harness has failed.
	nothingFrozen = statement{slowed: always, frozen: always}

	shimPublishes   = statement{anyFault: always}         // A shim sends its last events before it exits.
	childrenKilled  = statement{shimKilled: inTest}       // A shim kills the children of a container that has ended.
	signalArrives   = statement{anyFault: always}         // A signal of the client ends an exec.
	exitTimeKept    = statement{shimKilled: before}       // The shim's record of the time of an exit stays.
	allReport       = statement{anyFault: always}         // Every observer reports each exit.
	oneOOMEvent     = statement{anyFault: always}         // There is one OOM event for each OOM kill.
	oomSent         = statement{eventBroken: always}      // A shim that runs sends each OOM event.
	oomHeard        = statement{containerdDown: overlaps} // CRI gets each OOM event.
	startTimeKept   = statement{containerdDown: always}   // CRI reports the time of StartContainer.
	criEventSent    = statement{containerdDown: overlaps} // CRI sends each container event.
	criEventOnce    = statement{containerdDown: overlaps} // CRI sends each container event once.
	handlesClosed   = statement{responseDropped: always}  // containerd closes each handle that it opens.
	handlesSame     = statement{containerdDown: overlaps} // containerd and its shims keep the same handles.
	podUnchanged    = statement{anyFault: always}         // The containers that stay in a pod do not change.
	inventoryTaken  = statement{containerdFroze: always}  // containerd answers the harness.
	stopsInTime     = statement{containerdFroze: always}  // containerd exits soon after SIGTERM.
	responseArrives = statement{anyFault: always}         // Each request for a state gets a response.
	noFatalLog      = statement{anyFault: always}         // containerd logs no fatal message.
	netnsThere      = statement{nodePlanned: always}      // The network namespace of a pod stays until its DEL.
)

// span is the time that a statement is about.
type span struct{ from, to time.Time }

// until is a span without a beginning.
func until(to time.Time) span { return span{to: to} }

// tolerated reports whether a fault effect excuses that a statement does not hold.
func tolerated(h *run, what statement, when span) bool {
	return toleratedOf(h, what, harness.Instance{}, when)
}

// toleratedOf reports the same for a statement about a container.
func toleratedOf(h *run, what statement, of harness.Instance, when span) bool {
	return slices.ContainsFunc(h.effects, func(e effect) bool {
		return what[e.kind].covers(h, e, of, when)
	})
}

// covers reports whether a cell lets an effect excuse a statement about a container and a
// span.
func (c cell) covers(h *run, e effect, of harness.Instance, when span) bool {
	switch {
	case c&ofProcess != 0 && (of.PID == 0 || e.pid != int(of.PID)),
		c&ofItsShim != 0 && !h.killsShimOf(e, of.ID):
		return false
	}
	switch c & times {
	case 0:
		return c != 0
	case always:
		return true
	case before:
		return !e.from.After(when.to)
	case inTest:
		return harness.Within(e.from, h.Done)
	case overlaps:
		return e.gap().Overlaps(when.from, when.to)
	case soon:
		return e.gap().Overlaps(when.from, when.to.Add(lag))
	case around:
		return e.gap().Overlaps(when.from.Add(-lag), when.to.Add(lag))
	}
	return false
}
