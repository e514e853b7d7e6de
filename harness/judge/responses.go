package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tasktypes "github.com/containerd/containerd/api/types/task"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/model"
	"github.com/shimquake/shimquake/harness/script"
	"github.com/shimquake/shimquake/oracle/fact"
	"github.com/shimquake/shimquake/oracle/finding"
)

// responses: each response of containerd is possible in a state that the container can
// have at that time. So is each state or list that containerd reports after a step. A
// fault at a shim changes nothing for the containers of other shims. After a fault that
// may affect a container, only the reported states of its task are checked. An ended task
// does not run again, and a transient state ends.
func responses(h *run) (found []finding.Finding, problems []harness.Problem) {
	if h.Case.Workload.Fakeshim != "" {
		return nil, nil
	}
	steps, err := h.Case.Workload.Steps()
	if err != nil {
		return nil, problem(harness.ByInput, err.Error())
	}
	for n := range h.Case.Workload.WithDefaults().Containers {
		f := follow{h: h, steps: steps, container: n, made: map[int]model.Call{}}
		f.faultAt, f.faulty = faultAt(h, n)
		f.calls()
		f.observed()
		impossible, ok := model.Follow(f.ops)
		if !ok {
			problems = append(problems, problem(harness.ByHarness,
				fmt.Sprintf("c%d has too many possible states to check: make the script shorter", n))...)
			continue
		}
		for _, i := range impossible {
			if f.facts[i.Op] != (fact.Facts{}) {
				found = append(found, f.finding(i))
			}
		}
	}
	return found, problems
}

// follow collects the calls for one container, and the states that containerd reported
// for it.
type follow struct {
	h         *run
	steps     script.Script
	container int
	ops       []model.Op
	facts     []fact.Facts // of the finding if the op with this index is impossible; empty if another rule reports it
	objects   []script.Object
	made      map[int]model.Call // by index in ops; the other ops are observations
	faulty    bool               // a fault may have changed the container
	faultAt   time.Time          // the time of the first such fault
}

// faulted reports whether a fault may have changed the container by a time.
func (f *follow) faulted(by time.Time) bool { return f.faulty && !f.faultAt.After(by) }

// models reports whether the model knows the states of an object after a fault.
func (f *follow) models(of script.Object) bool {
	return f.h.Case.Workload.API != harness.CRI && of == script.Container(f.container)
}

func (f *follow) add(of script.Object, o model.Op, fs fact.Facts) {
	f.ops, f.facts, f.objects = append(f.ops, o), append(f.facts, fs), append(f.objects, of)
}

func (f *follow) calls() {
	for _, c := range f.h.Calls {
		if c.Step == 0 || c.Step > len(f.steps) {
			continue
		}
		of, ok := f.object(c)
		if !ok {
			continue
		}
		call := model.CallOf(f.h.Case.Workload, f.steps, c.Step-1, c.Verb, of)
		call.Beside, call.Release = atSameTime(f.h, c), f.h.Version
		fs := fact.Facts{fact.What: fact.WrongResponse, fact.Call: c.Verb, fact.Reported: string(c.Response)}
		switch {
		case c.Unprovoked, of == script.ThePod && f.container > 0: // the calls for the pod are judged with c0
			fs = fact.Facts{}
		case c.Err != nil:
			fs[fact.Error] = c.Err.Text
		}
		o := model.Op{From: c.At, To: c.At.Add(c.Took),
			Next:        func(m model.Config) []model.Config { return m.Next(call, c.Response) },
			NextDespite: func(m model.Config) []model.Config { return m.NextDespite(call, c.Response) }}
		switch {
		case !f.faulted(o.To):
			f.made[len(f.ops)] = call
		case f.models(of):
			fs = fact.Facts{}
			o.Next = func(m model.Config) []model.Config { return m.AfterFault(call, c.Response) }
		default:
			continue
		}
		if c.Response == harness.Lost && (!f.faulted(o.To) || c.Verb == "create") {
			o.To = time.Time{}
		}
		f.add(of, o, fs)
	}
}

// object returns the object that a call is about, if it is the container or its pod.
func (f *follow) object(c harness.Call) (script.Object, bool) {
	of, named := harness.ObjectNamed(c.Of)
	if c.Verb == "restart" {
		return script.Container(f.container), true
	}
	if f.h.Case.Workload.API == harness.CRI {
		about, known := model.ObjectOf(c.Verb, script.Container(f.container))
		switch {
		case known && about == script.ThePod:
			return about, true
		case !known && c.Verb != "end":
			return of, false
		}
	}
	return of, named && of.Container == f.container && f.has(of)
}

// atSameTime reports whether another call creates or deletes the same object at the same
// time.
func atSameTime(h *run, c harness.Call) bool {
	return (c.Verb == "create" || c.Verb == "delete") && slices.ContainsFunc(h.Calls, func(other harness.Call) bool {
		return other.Verb == c.Verb && other.Of == c.Of && other.Step != c.Step && other.Step > 0 &&
			other.At.Before(c.At.Add(c.Took)) && c.At.Before(other.At.Add(other.Took))
	})
}

// has reports whether the workload has an object.
func (f *follow) has(of script.Object) bool {
	return of.Exec < len(f.h.Case.Workload.WithDefaults().Containers[f.container].Execs)
}

func (f *follow) observed() {
	for _, o := range f.h.Observed {
		of, named := harness.ObjectNamed(o.Of)
		if o.Of == script.ThePod.String() && f.container == 0 {
			of, named = script.ThePod, true
		}
		mine := of == script.ThePod || of.Container == f.container && f.has(of)
		if !named || !mine || o.Step == 0 || o.Step > len(f.steps) {
			continue
		}
		op := model.Op{From: o.At, To: o.At.Add(o.Took)}
		says, faulted := o.Value, f.faulted(op.To)
		unknown := o.Err != nil || says == "" || says == tasktypes.Status_UNKNOWN.String()
		switch {
		case faulted && (unknown || !f.models(of)),
			harness.ResponseOf(o.Err) == harness.Lost && tolerated(f.h, responseArrives, span{}),
			says == tasktypes.Status_PAUSING.String() && f.pauses(op):
			continue
		case o.Err != nil:
			says = "error"
		}
		fs := fact.Facts{fact.What: fact.WrongState, fact.Call: f.steps[o.Step-1].Verb, fact.Field: o.Field,
			fact.Reported: says}
		if says == "" {
			fs[fact.Reported] = fact.None
		}
		op.Next = func(m model.Config) (all []model.Config) {
			if !faulted {
				return m.Allows(of, says)
			}
			for _, one := range m.Faulted() {
				all = append(all, one.Allows(of, says)...)
			}
			return all
		}
		op.NextDespite = func(m model.Config) []model.Config { return m.Adopt(of, says) }
		f.add(of, op, fs)
	}
}

// pauses reports whether a pause of the container may be in flight during an operation.
func (f *follow) pauses(o model.Op) bool {
	return slices.ContainsFunc(f.h.Calls, func(c harness.Call) bool {
		of, _ := f.object(c)
		return c.Verb == "pause" && of == script.Container(f.container) && c.At.Before(o.To) &&
			(c.Response == harness.Lost || c.At.Add(c.Took).After(o.From))
	})
}

// finding returns the finding about an impossible response or an impossible observed
// state.
func (f *follow) finding(i model.Impossible) finding.Finding {
	of, fs := f.objects[i.Op], f.facts[i.Op]
	var states, responses []string
	for _, c := range i.Before {
		states = append(states, c.Words(of))
		if call, ok := f.made[i.Op]; ok {
			response, _ := c.Do(call)
			responses = append(responses, string(response))
		}
	}
	fs[fact.True] = either(states)
	if len(responses) > 0 {
		fs[fact.Want] = either(responses)
	}
	s := subjectOf(of)
	return finding.Finding{Invariant: finding.Liveness, Class: finding.ClassContainer, Subject: s,
		Facts: ofExec(s.Exec, fs)}
}

// subjectOf returns an object of a script as findings name it.
func subjectOf(of script.Object) finding.Subject {
	if of == script.ThePod {
		return finding.Subject{ID: of.String()}
	}
	s := finding.Subject{ID: script.Container(of.Container).String()}
	if of.IsExec() {
		s.Exec = fmt.Sprintf("e%d", of.Exec)
	}
	return s
}

// either joins the distinct words in alphabetical order: "none, or running".
func either(words []string) string {
	slices.Sort(words)
	return strings.Join(slices.Compact(words), ", or ")
}
