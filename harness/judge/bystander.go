package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shimquake/shimquake/fixtures/payload"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/event"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// bystanders: a fault in one container does not affect another container. Each call for a
// bystander gets a response in time. A bystander runs until its client ends it. None of
// its output lines is lost. The rules for the end, the exit and the events of the
// workload apply to it, without the effects of faults in other containers.
func bystanders(h *run) (found []finding.Finding, problems []harness.Problem) {
	if h.Case.Workload.Bystander && len(h.Bystanders) == 0 && !h.Done.IsZero() {
		return nil, problem(harness.ByHarness, "the case asks for a bystander, but the history has none")
	}
	for n := range h.Bystanders {
		b := beside{h, &h.Bystanders[n], nil, nil}
		b.judge()
		found, problems = append(found, b.found...), append(problems, b.problems...)
	}
	return found, problems
}

// beside holds one bystander, and the findings and problems about it.
type beside struct {
	h        *run
	b        *harness.Bystander
	found    []finding.Finding
	problems []harness.Problem
}

func (b *beside) judge() {
	b.calls()
	if b.b.Started.IsZero() {
		return // its failed call says why
	}
	// The harness asks for their status when all bystanders have started.
	waited := slices.ContainsFunc(b.h.Bystanders, func(o harness.Bystander) bool { return o.Started.IsZero() })
	asked := b.b.Asked > 0 || waited || len(b.found)+len(b.problems) > 0
	if !asked && !tolerated(b.h, besideWorks, span{b.b.Started, b.b.Released}) {
		b.problems = problem(harness.ByHarness, "no status call was made for the bystander "+b.b.ID)
	}
	if b.b.Payload.Runs != 1 {
		b.problems = append(b.problems, problem(harness.ByTruth,
			fmt.Sprintf("the payload of the bystander %s was started %d times", b.b.ID, b.b.Payload.Runs))...)
		return
	}
	b.end()
	b.answers()
	b.output()
	b.workload()
}

func (b *beside) find(what string, fs fact.Facts) {
	fs[fact.What], fs[fact.Object] = what, fact.ATask
	if b.b.API == harness.CRI {
		fs[fact.Object] = fact.APod
	}
	b.found = append(b.found, finding.Finding{
		Invariant: finding.Others, Class: finding.ClassBystander, Facts: fs,
		Subject: finding.Subject{Namespace: b.b.Namespace, ID: b.b.ID, PID: int(b.b.PID)},
	})
}

// calls returns a finding for each kind of call for the bystander that failed. If its
// start fails before any fault, the run is invalid, unless the default release can start
// the bystander on this machine.
func (b *beside) calls() {
	type failure struct{ verb, code string }
	counts := map[failure]int{}
	var first []harness.Call
	for _, c := range b.b.Calls {
		if c.Err == nil || tolerated(b.h, besideWorks, span{c.At, c.At.Add(c.Took)}) {
			continue
		}
		key := failure{c.Verb, c.Err.Code}
		if counts[key]++; counts[key] == 1 {
			first = append(first, c)
		}
	}
	for _, c := range first {
		if c.Unprovoked && b.b.Started.IsZero() && !b.h.MachineCan() {
			b.problems = append(b.problems, problem(harness.ByBefore, fmt.Sprintf(
				"%s failed before any fault had happened: %s", strings.TrimSpace(c.Verb+" "+c.Of), c.Err.Text))...)
			continue
		}
		fs := c.Err.Facts(fact.OthersCall)
		if fs[fact.Bound] = c.Took.Round(time.Millisecond).String(); counts[failure{c.Verb, c.Err.Code}] > 1 {
			fs[fact.Count] = strconv.Itoa(counts[failure{c.Verb, c.Err.Code}])
		}
		b.find(fact.OthersCall, fs)
	}
}

// end returns a finding if the bystander ended before its client ended it.
func (b *beside) end() {
	if own := b.b.Payload; own.Exited && own.ExitedAt.Before(b.b.Released) {
		b.find(fact.OthersEnd, fact.Facts{fact.True: fmt.Sprint(b.b.Want), fact.Reported: strconv.Itoa(own.Status),
			fact.At: b.b.Released.Sub(own.ExitedAt).Round(time.Millisecond).String()})
	}
}

// besideWhats has the values of What for the findings of the workload's rules.
var besideWhats = map[finding.Class]string{finding.ClassEnd: fact.OthersEnd, finding.ClassEvent: fact.OthersEvent,
	finding.ClassExitCode: fact.OthersStatus}

// workload judges the end, the exit and the events of the bystander by the rules for the
// workload. A task's delete is the last event of its shim, which may exit before it has
// sent it (catalogue/bugs, taskdelete-lost).
func (b *beside) workload() {
	alone := b.alone()
	for _, check := range []rule{ends, excuses(nil).events, exits} {
		found, problems := check(alone)
		b.problems = append(b.problems, problems...)
		for _, f := range found {
			if fs := f.Facts; fs[fact.Event] != fact.Missing || fs[fact.Topic] != event.TopicDelete || fs[fact.Last] == "" {
				b.find(besideWhats[f.Class], fs)
			}
		}
	}
}

// running has the state of a running bystander, as each call names it.
var running = map[string]string{
	"State": "RUNNING", "List": "RUNNING", "ContainerStatus": "CONTAINER_RUNNING",
	"ListContainers": "CONTAINER_RUNNING", "ListPodSandbox": "SANDBOX_READY",
}

// answers returns a finding for each report that the bystander does not run, or has
// another pid than at its start.
func (b *beside) answers() {
	for _, told := range b.b.Told {
		if b.b.Payload.Exited && b.b.Payload.ExitedAt.Before(told.At) {
			continue // method end reports it
		}
		is, want := told.State, running[told.Verb]
		if b.b.API != harness.CRI {
			is, want = fmt.Sprintf("%s, pid %d", told.State, told.PID), fmt.Sprintf("%s, pid %d", want, b.b.PID)
		}
		if !told.Listed {
			is = "nothing"
		}
		if is != want {
			b.find(fact.OthersAnswer, fact.Facts{
				fact.By: told.Verb, fact.Reported: is, fact.True: want})
		}
	}
}

// output checks that each line of both streams is read once, and that after a rotation
// the lines are in the new log. Lines of a pod pass through containerd. A containerd that
// dies loses the lines that it has not written yet.
func (b *beside) output() {
	b.stream(b.b.Output, "")
	if b.b.Stderr != nil {
		b.stream(*b.b.Stderr, fact.Stderr)
	}
	for _, fs := range linesAfterRotation(b.b.Rotations) {
		b.find(fact.OthersOutput, fs)
	}
}

func (b *beside) stream(out harness.Output, name string) {
	own := b.b.Payload
	lost := slices.DeleteFunc(out.MissingOf(own.Wrote, own.ExitedAt), func(hole harness.MissingLines) bool {
		if hole.From == 1 { // no line is before it
			hole.After = own.StartedAt
		}
		return b.b.API == harness.CRI && b.diedWith(hole)
	})
	for _, fs := range wrongLines(out, lost) {
		fs[fact.Stream] = name
		b.find(fact.OthersOutput, fs)
	}
}

// unseen is how late the harness may notice that containerd has ended and reads no lines.
const unseen = 100 * time.Millisecond

// diedWith reports whether a containerd that ended, or was frozen, can have held the
// lines of a hole. The payload wrote the first of them shortly before that, and the last
// not after. It writes a line every WriteEvery, or a little sooner if the line before was
// late.
func (b *beside) diedWith(hole harness.MissingLines) bool {
	last := hole.After.Add(time.Duration(hole.To-hole.From-1) * payload.WriteEvery)
	around := func(at time.Time) bool {
		return !at.Before(hole.After) && at.Sub(hole.After) < unwritten && last.Before(at.Add(unseen))
	}
	return slices.ContainsFunc(interruptions(b.h), around)
}
