package judge

import (
	"slices"
	"time"

	"github.com/shimquake/shimquake/harness"
)

// statement is a kind of thing that containerd, a shim or a client reports.
type statement int

// The statements that some fault effects excuse: a deviation is tolerated then.
const (
	exitNoticed   statement = iota // A shim notices the end of a process at once.
	exitTimeSame                   // All reports of an exit have the same time.
	reportWritten                  // containerd has written down what it reported.
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
	processLives                   // A process ends by itself, or by its client.
)

// cell says which effects of a kind excuse a statement.
type cell int

const (
	always    cell = iota + 1
	before         // It began before the end of the statement's time.
	inTest         // It began before the client was done.
	firstUse       // It began before the second use of the first id.
	overlaps       // It overlaps the statement's time.
	soon           // It overlaps that time, or begins at most lag later.
	around         // It overlaps that time, or is at most lag apart from it.
	ofProcess      // It is on the process itself.
	ofItsShim      // It is on a shim that served the container.
)

// lag is how late the effect of a signal may be seen. A call may fail because of it as
// much later.
const lag = time.Second

// tolerances says which fault effects excuse which statements, and when.
var tolerances = map[statement]map[kind]cell{
	exitNoticed: {shimKilled: ofItsShim, shimHeld: always, slowed: always, frozen: always, shimFaked: always},
	exitTimeSame: {
		shimKilled: firstUse, shimPlanned: always, shimFaked: always, kernelSlow: before,
		callHeld: before, callBroken: before, statementBroken: before,
	},
	// A kill excuses nothing here: containerd wrote the report down before.
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
	besideWorks:   {containerdDown: around, frozen: around, diskSlow: always},
}

// span is the time that a statement is about.
type span struct{ from, to time.Time }

// until is a span without a beginning.
func until(to time.Time) span { return span{to: to} }

// tolerated reports whether a fault effect excuses that a statement about a container
// does not hold.
func tolerated(h *harness.History, what statement, of harness.Instance, when span) bool {
	return slices.ContainsFunc(effectsOf(h), func(e effect) bool {
		return tolerances[what][e.kind].covers(h, e, of, when)
	})
}

// covers reports whether an effect is one of a cell.
func (c cell) covers(h *harness.History, e effect, of harness.Instance, when span) bool {
	switch c {
	case always:
		return true
	case before:
		return !e.from.After(when.to)
	case inTest:
		return e.from.Before(h.Done)
	case firstUse:
		return h.Done.IsZero() || !e.from.After(h.Done)
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

// broken reports whether a fault may have kept containerd from writing down, by a time,
// what it reported.
func broken(h *harness.History, by time.Time) bool { return brokenSince(h, time.Time{}, by) }

// brokenSince reports the same of the time after another.
func brokenSince(h *harness.History, from, by time.Time) bool {
	return tolerated(h, reportWritten, harness.Instance{}, span{from, by})
}

// fired reports whether a fault may have happened by a time.
func fired(h *harness.History, by time.Time) bool {
	return tolerated(h, stateReported, harness.Instance{}, until(by))
}

// brokenOrKilled reports whether a fault may have broken a call of containerd, or killed
// a process other than containerd, by a time.
func brokenOrKilled(h *harness.History, by time.Time) bool {
	return tolerated(h, objectKept, harness.Instance{}, until(by))
}

// faultKilled reports whether the harness killed the init of a container, or a fault
// killed a shim that served it.
func faultKilled(h *harness.History, i harness.Instance) bool {
	return tolerated(h, processLives, i, span{})
}

// held reports whether the shim of a container may have noticed its end late or not at
// all.
func held(h *harness.History, i harness.Instance) bool { return tolerated(h, exitNoticed, i, span{}) }

// has reports whether a history has a fault effect of a kind.
func has(h *harness.History, is kind) bool {
	return slices.ContainsFunc(effectsOf(h), func(e effect) bool { return e.kind == is })
}

// hadBegun reports whether a fault effect of a kind had begun by a time.
func hadBegun(h *harness.History, is kind, by time.Time) bool {
	return slices.ContainsFunc(effectsOf(h), func(e effect) bool { return e.kind == is && !e.from.After(by) })
}
