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
	exitNoticed   statement = iota // A shim notices the end of a process at once.
	eventSent                      // A shim that runs sends each event, until containerd takes it.
	exitTimeSame                   // All reports of an exit have the same time.
	reportWritten                  // containerd has stored what it reported.
	objectKept                     // Nothing but the client ends or removes an object.
	stateReported                  // containerd reports the state of an object.
	outputRead                     // Each line of an output is read.
	inputRead                      // Each line of an input is read.
	streamWorks                    // A stream of CRI stays connected.
	execWorks                      // ExecSync responds as it should.
	waitReturns                    // A Wait returns after the exit.
	stateAnswered                  // A request for the state gets a response.
	shimExitsWell                  // A shim exits with 0.
	besideWorks                    // A call about a bystander works.
	processLives                   // Only the process itself or its client ends a process.
)

// cell says which effects of a kind excuse a statement, by their time or by their
// process.
type cell int

const (
	always    cell = iota + 1 // all effects.
	before                    // effects that began before the end of the statement's span.
	inTest                    // effects that began before the client was done.
	overlaps                  // effects that overlap the statement's span.
	soon                      // effects that overlap the span, or begin at most lag later.
	around                    // effects that overlap the span, or are at most lag away from it.
	ofProcess                 // effects on the process itself.
	ofItsShim                 // effects on a shim that served the container.
)

// lag is how late the effect of a signal may be seen, and how much later a call may fail
// because of the signal.
const lag = time.Second

// tolerances says which fault effects excuse which statements, and when.
var tolerances = map[statement]map[kind]cell{
	exitNoticed: {shimKilled: ofItsShim, shimHeld: always, slowed: always, frozen: always, shimFaked: always},
	eventSent:   {shimKilled: ofItsShim, slowed: always, frozen: always, shimFaked: always},
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
	stateAnswered: {containerdDown: overlaps, slowed: always, frozen: always},
	shimExitsWell: {processKilled: ofProcess, shimPlanned: always, shimFaked: always},
	processLives:  {processKilled: ofProcess, shimKilled: ofItsShim},
	besideWorks:   {containerdDown: around, containerdEnds: overlaps, frozen: around, diskSlow: always},
}

// span is the time that a statement is about.
type span struct{ from, to time.Time }

// until is a span without a beginning.
func until(to time.Time) span { return span{to: to} }

// tolerated reports whether a fault effect excuses that a statement about a container
// does not hold.
func tolerated(h *run, what statement, of harness.Instance, when span) bool {
	return slices.ContainsFunc(h.effects, func(e effect) bool {
		return tolerances[what][e.kind].covers(h, e, of, when)
	})
}

// covers reports whether a cell lets an effect excuse a statement about a container and a
// span.
func (c cell) covers(h *run, e effect, of harness.Instance, when span) bool {
	switch c {
	case always:
		return true
	case before:
		return !e.from.After(when.to)
	case inTest:
		return e.from.Before(h.Done)
	case overlaps:
		return e.gap().Overlaps(when.from, when.to)
	case soon:
		return e.gap().Overlaps(when.from, when.to.Add(lag))
	case around:
		return e.gap().Overlaps(when.from.Add(-lag), when.to.Add(lag))
	case ofProcess:
		return of.PID != 0 && e.pid == int(of.PID)
	case ofItsShim:
		return slices.ContainsFunc(shimKillsOf(h, of.ID), func(k harness.Kill) bool { return k.PID == e.pid })
	}
	return false
}

// broken reports whether a fault may have kept containerd from storing what it reported
// by a time.
func broken(h *run, by time.Time) bool { return brokenSince(h, time.Time{}, by) }

// brokenSince reports the same for the time between two times.
func brokenSince(h *run, from, by time.Time) bool {
	return tolerated(h, reportWritten, harness.Instance{}, span{from, by})
}

// fired reports whether a fault may have happened by a time.
func fired(h *run, by time.Time) bool {
	return tolerated(h, stateReported, harness.Instance{}, until(by))
}

// brokenOrKilled reports whether a fault may have broken a call of containerd, or killed
// a process other than containerd, by a time.
func brokenOrKilled(h *run, by time.Time) bool {
	return tolerated(h, objectKept, harness.Instance{}, until(by))
}

// faultKilled reports whether the harness killed the init of a container, or a fault
// killed a shim that served it.
func faultKilled(h *run, i harness.Instance) bool {
	return tolerated(h, processLives, i, span{})
}

// held reports whether the shim of a container may have noticed its end late or not at
// all.
func held(h *run, i harness.Instance) bool { return tolerated(h, exitNoticed, i, span{}) }

// has reports whether a history has a fault effect of a kind.
func has(h *run, is kind) bool {
	return slices.ContainsFunc(h.effects, func(e effect) bool { return e.kind == is })
}

// hadBegun reports whether a fault effect of a kind had begun by a time.
func hadBegun(h *run, is kind, by time.Time) bool {
	return slices.ContainsFunc(h.effects, func(e effect) bool { return e.kind == is && !e.from.After(by) })
}
