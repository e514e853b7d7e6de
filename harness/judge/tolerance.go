package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
)

// statement is a statement about containerd, a shim or a client that a rule checks.
type statement int

// The statements that need not hold after some effects of faults.
const (
	exitNoticed     statement = iota // A shim notices the end of a process at once.
	eventSent                        // A shim that runs sends each event, until containerd takes it.
	firstTrySent                     // A shim lives until it has sent each event once.
	exitTimeSame                     // All reports of an exit have the same time.
	reportWritten                    // containerd has stored what it reported.
	objectKept                       // Nothing but the client ends or removes an object.
	stateReported                    // containerd reports the state of an object.
	outputRead                       // Each line of an output is read.
	inputRead                        // Each line of an input is read.
	streamWorks                      // A stream of CRI stays connected.
	execWorks                        // ExecSync responds as it should.
	waitReturns                      // A Wait returns after the exit.
	stateAnswered                    // A request for the state gets a response.
	shimExitsWell                    // A shim exits with 0.
	shimPublishes                    // A shim sends its last events before it exits.
	childrenKilled                   // A shim kills the children of a container that has ended.
	besideWorks                      // A call about a bystander works.
	processLives                     // Only the process itself or its client ends a process.
	execLives                        // Nothing but the exec itself or its client ends it before its exit is reported.
	signalArrives                    // A signal of the client ends an exec.
	onlyClientKills                  // Only the client ends a process by SIGKILL.
	stopEnds                         // A successful stop has ended its container.
	exitKnown                        // The shim's record of an exit stays until the exit is reported.
	exitTimeKept                     // The shim's record of the time of an exit stays.
	allReport                        // Every observer reports each exit.
	oneOOMEvent                      // There is one OOM event for each OOM kill.
	oomSent                          // A shim that runs sends each OOM event.
	oomHeard                         // CRI gets each OOM event.
	startTimeKept                    // CRI reports the time of StartContainer.
	criEventSent                     // CRI sends each container event.
	criEventOnce                     // CRI sends each container event once.
	criEventWhole                    // A container event has the status of its pod and containers.
	handlesClosed                    // containerd closes each handle that it opens.
	handlesSame                      // containerd and its shims keep the same handles.
	podUnchanged                     // The containers that stay in a pod do not change.
	pluginsKept                      // containerd has the same plugins as in the first inventory.
	inventoryTaken                   // containerd answers the harness.
	collected                        // containerd collects garbage in time.
	stopsInTime                      // containerd exits soon after SIGTERM.
	inTime                           // A call takes about as long as the others.
	responseArrives                  // Each request for a state gets a response.
	noFatalLog                       // containerd logs no fatal message.
	netnsThere                       // The network namespace of a pod stays until its DEL.
	nothingFrozen                    // No process is frozen if a step of the harness has failed.
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

// tolerances says which fault effects excuse which statements, and when.
var tolerances = map[statement]map[kind]cell{
	exitNoticed:  {shimKilled: ofItsShim, shimHeld: always, slowed: always, frozen: always, shimFaked: always},
	eventSent:    {shimKilled: ofItsShim, slowed: always, frozen: always, shimFaked: always},
	firstTrySent: {shimKilled: ofItsShim | before},
	exitTimeSame: {
		shimBroken: always, shimFaked: always, kernelSlow: before,
		callHeld: before, callBroken: before, statementBroken: before,
	},
	// A kill excuses nothing here, because containerd stores a state before it reports
	// it.
	reportWritten: {
		kernelSlow: overlaps, callHeld: overlaps, callBroken: overlaps, statementBroken: overlaps,
		shimFaked: always,
	},
	objectKept: {
		kernelSlow: before, callHeld: before, callBroken: before, statementBroken: before, shimFaked: always,
		processKilled: before, shimKilled: before,
	},
	stateReported: {
		kernelSlow: before, procFault: before, callHeld: before, callBroken: before, statementBroken: before,
		crashed: before, containerdLost: before, shimFaked: always,
	},
	outputRead: {
		containerdDown: overlaps, shimKilled: ofItsShim, slowed: always, frozen: always, diskSlow: always,
		statementBroken: inTest,
	},
	inputRead: {
		processKilled: ofProcess, shimKilled: ofItsShim, slowed: always, frozen: always, diskSlow: always,
		statementBroken: inTest,
	},
	streamWorks: {
		containerdDown: soon, processKilled: ofProcess, shimKilled: ofItsShim, slowed: always, frozen: always,
		diskSlow: always, crashed: before, callBroken: before, statementBroken: inTest, shimFaked: always,
	},
	execWorks: {
		containerdDown: soon, processKilled: ofProcess, shimKilled: ofItsShim, slowed: always, frozen: always,
		diskSlow: always, crashed: before, callBroken: before, statementBroken: before, shimFaked: always,
	},
	waitReturns: {
		containerdDown: overlaps, slowed: always, frozen: always, diskSlow: always, responseKept: always,
		shimFaked: always,
	},
	stateAnswered:   {containerdDown: overlaps, slowed: always, frozen: always},
	shimExitsWell:   {processKilled: ofProcess, shimPlanned: always, shimFaked: always},
	shimPublishes:   {anyFault: always},
	childrenKilled:  {shimKilled: inTest},
	besideWorks:     {containerdDown: around, containerdEnds: overlaps, frozen: around, diskSlow: always},
	processLives:    {processKilled: ofProcess, shimKilled: ofItsShim, shimFaked: always},
	execLives:       {processKilled: ofProcess | before, shimKilled: ofItsShim | before},
	signalArrives:   {anyFault: always},
	onlyClientKills: {processKilled: always, shimKilled: inTest},
	stopEnds:        {processKilled: always, containerdDown: overlaps},
	exitKnown:       {nodeRebooted: overlaps},
	exitTimeKept:    {shimKilled: before},
	allReport:       {anyFault: always},
	oneOOMEvent:     {anyFault: always},
	oomSent:         {eventBroken: always},
	oomHeard:        {containerdDown: overlaps},
	startTimeKept:   {containerdDown: always},
	criEventSent:    {containerdDown: overlaps},
	criEventOnce:    {containerdDown: overlaps},
	criEventWhole:   {anyFault: always, containerdDown: always},
	handlesClosed:   {responseDropped: always},
	handlesSame:     {containerdDown: overlaps},
	podUnchanged:    {anyFault: always},
	pluginsKept:     {statementBroken: before, callBroken: before, callHeld: before, crashed: before},
	inventoryTaken:  {containerdFroze: always},
	collected:       {containerdFroze: always, kernelSlow: before},
	stopsInTime:     {containerdFroze: always},
	inTime:          {anyFault: always, containerdDown: overlaps},
	responseArrives: {anyFault: always},
	noFatalLog:      {anyFault: always},
	netnsThere:      {nodePlanned: always},
	nothingFrozen:   {slowed: always, frozen: always},
}

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
		return tolerances[what][e.kind].covers(h, e, of, when)
	})
}

// covers reports whether a cell lets an effect excuse a statement about a container and a
// span.
func (c cell) covers(h *run, e effect, of harness.Instance, when span) bool {
	switch {
	case c&ofProcess != 0 && (of.PID == 0 || e.pid != int(of.PID)),
		c&ofItsShim != 0 && !slices.ContainsFunc(shimKillsOf(h, of.ID), func(k harness.Kill) bool { return k.PID == e.pid }):
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

// broken reports whether a fault may have kept containerd from storing what it reported
// by a time.
func broken(h *run, by time.Time) bool { return brokenSince(h, time.Time{}, by) }

// brokenSince reports the same for the time between two times.
func brokenSince(h *run, from, by time.Time) bool {
	return tolerated(h, reportWritten, span{from, by})
}

// fired reports whether a fault may have happened by a time.
func fired(h *run, by time.Time) bool {
	return tolerated(h, stateReported, until(by))
}

// brokenOrKilled reports whether a fault may have broken a call of containerd, or killed
// a process other than containerd, by a time.
func brokenOrKilled(h *run, by time.Time) bool {
	return tolerated(h, objectKept, until(by))
}

// faultKilled reports whether the harness killed the init of a container, or a fault
// killed a shim that served it.
func faultKilled(h *run, i harness.Instance) bool {
	return toleratedOf(h, processLives, i, span{})
}

// held reports whether the shim of a container may have noticed its end late or not at
// all.
func held(h *run, i harness.Instance) bool { return toleratedOf(h, exitNoticed, i, span{}) }
