package plan

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/failpoints/weave"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/sweep/engine"
)

// AtMethod is the only moment of a point at a ttrpc method. A statement has several
// moments: see term.Moment.
const AtMethod term.Moment = "method"

// Hit is a hit of a point in a trace: a moment at which a fault can happen.
type Hit struct {
	Point  failpoints.Point
	Moment term.Moment
	// Nth numbers the point's hits with the same Moment in the whole case, from 1.
	Nth int
	// Path names what the client does at that time: create, start, exit, delete or load.
	Path string
	// Step is the number of the script's step at that time, from 1. It is 0 before the
	// first step.
	Step int
	// Callee is the function that the statement calls. It determines which errors the
	// call can return.
	Callee string
	// Effect limits what the statement does until the next one begins.
	Effect weave.Effect
	// Ending is set if the process had been asked to exit by then, see harness.TracedHit.
	Ending bool
}

// Traces has the hits of a workload, one list for each run. After, if not nil, is the
// fault that happened in each run.
type Traces struct {
	Workload string
	Runs     [][]Hit
	After    *Fault
}

// TraceError reports a workload or a case that is violated even without a fault. A
// sweep of it would prove nothing.
type TraceError struct {
	Workload string
	Verdict  harness.Verdict
}

func (e *TraceError) Error() string {
	return fmt.Sprintf("%s must hold without a fault before a sweep:\n%s", e.Workload, e.Verdict)
}

// CheckFaultless runs a workload without a fault and without a trace, unless the cache
// has such a run. It returns an error if the workload does not hold. This run checks more
// than a traced run, which omits the client's extra calls: their hits would count.
func CheckFaultless(t *engine.Task, o Options, name string) error {
	w, err := workloadNamed(name)
	if err != nil {
		return err
	}
	c := harness.Case{Name: "plain-" + name, Containerd: o.Containerd, Workload: w.Workload}
	return holds(t, name, WithKnownFindingsOf(name), func() (harness.Verdict, error) { return o.faultless(t, c) })
}

// holds runs a case without a fault, and returns a *TraceError if it does not hold. A
// race of one of the like workloads may have lost it by chance.
func holds(t *engine.Task, name string, like []string, run func() (harness.Verdict, error)) error {
	v, err := run()
	if err != nil {
		return err
	}
	v, ok, err := orLostByChance(t, v, like, run)
	if err == nil && !ok {
		t.Keep(v.Evidence)
		err = &TraceError{name, v}
	}
	return err
}

// Trace runs a workload without a fault, and returns its hits.
func Trace(t *engine.Task, o Options, name string) (hits []Hit, err error) {
	w, err := workloadNamed(name)
	if err != nil {
		return nil, err
	}
	c := harness.Case{Name: "trace-" + name, Containerd: o.Containerd, Workload: w.Workload}
	err = holds(t, name, WithKnownFindingsOf(name), func() (harness.Verdict, error) {
		trace, err := t.Trace(c)
		if errors.Is(err, engine.ErrInterrupted) {
			return trace.Verdict, err
		}
		if o.AsItIs && trace.Verdict.Outcome == harness.Violated {
			trace.Verdict.Outcome = harness.Held
		}
		if hits == nil && trace.Verdict.Outcome == harness.Held {
			hits = Hits(trace)
		}
		return trace.Verdict, nil // if it is invalid, it has the reason
	})
	return hits, err
}

// TraceAfter runs a case with one fault, and returns its hits and the index of the
// fault's hit. The list is nil if the fault does not fire.
func TraceAfter(t *engine.Task, containerd string, s Spec) (all []Hit, at int, err error) {
	c, err := s.Case(containerd)
	if err != nil {
		return nil, 0, err
	}
	c.Workload.Settle = time.Second // a short wait: the sweep, and not this trace, reports leaks
	fault := s.Last()
	for range s.MaxRuns() {
		trace, err := t.Trace(c)
		if errors.Is(err, engine.ErrInterrupted) || trace.Verdict.UnableHere() {
			return nil, 0, err
		}
		if err != nil || trace.Verdict.Outcome == harness.Invalid {
			continue
		}
		all := Hits(trace)
		at := slices.IndexFunc(all, func(p Hit) bool {
			return p.Point == fault.Point && p.Nth == fault.Nth && p.Takes(fault.Action)
		})
		if at >= 0 {
			return all, at, nil
		}
	}
	return nil, 0, nil
}

// Hits returns the hits of a trace at which a fault can happen.
func Hits(t harness.Trace) []Hit {
	var out []Hit
	for _, p := range t.Hits {
		add := func(m term.Moment, nth int) {
			if nth > 0 {
				out = append(out, Hit{Point: p.Point, Moment: m, Nth: nth, Path: p.Path, Step: p.Step,
					Callee: p.Callee, Ending: p.Ending})
			}
		}
		switch {
		case p.Point.Kind != failpoints.Stmt:
			add(AtMethod, p.Nth)
			continue
		case p.Call:
			add(term.AtCall, p.Nth)
		default:
			add(term.AtStatement, p.Nth)
		}
		add(term.AtCancel, p.NthCancel)
		add(term.AtDeadline, p.NthDeadline)
	}
	return out
}
