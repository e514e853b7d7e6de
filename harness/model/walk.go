package model

import (
	"maps"
	"slices"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
)

// CallOf returns a call that the n-th step of a workload's script makes about an object.
// verb is the name of the call, because an `exec` step of the task API makes two: add and
// start. With CRI, verb may also be the verb of the step.
func CallOf(w harness.Workload, steps script.Script, n int, verb string, of script.Object) Call {
	if w.API == harness.CRI {
		return criCallOf(w, steps, verb, of)
	}
	spec := w.WithDefaults().Containers[of.Container]
	signal, absent, stays := spec.Signal, spec.NoSuchCommand, spec.Stays
	if of.IsExec() {
		e := spec.Execs[of.Exec]
		signal, absent, stays = e.Signal, e.NoSuchCommand, e.Stays
	}
	atOnce := !stays && signal == "" && (!w.Scripted() || !steps.Has("end", of))
	switch {
	case steps[n].Verb != "end":
		signal = steps[n].Arg
	case verb == "kill" && signal == "":
		signal = "SIGKILL" // the client kills a payload that does not end with its input
	case signal != "":
		verb = "kill"
	case verb == "close-io":
		verb = "end"
	}
	return Call{Verb: verb, Of: of, Absent: absent, Signal: signal, SharedPID: spec.SharedPID, AtOnce: atOnce}
}

// criCallOf does the work of CallOf for CRI.
func criCallOf(w harness.Workload, steps script.Script, verb string, of script.Object) Call {
	call := Call{Verb: verb, Of: of}
	if of == script.ThePod {
		call.Verb = script.CRICall(verb, of)
		return call
	}
	call.Of = script.Container(of.Container)
	spec := w.WithDefaults().Containers[of.Container]
	call.Absent = spec.NoSuchCommand
	call.AtOnce = !spec.Stays && spec.Signal == "" && (!w.Scripted() || !steps.Has("end", call.Of))
	if verb == "end" && spec.Signal != "" {
		verb = "stop"
	}
	call.Verb = script.CRICall(verb, call.Of)
	if call.Verb == "ExecSync" {
		call.Absent = slices.ContainsFunc(spec.Execs, func(e harness.ExecSpec) bool { return e.NoSuchCommand })
	}
	return call
}

// Expected has the possible results of a step for one of its objects.
type Expected struct {
	Of script.Object
	// Responses are the possible responses. Without any, the step waits for ever.
	Responses []harness.Response
	// States are the possible states of the object after the step, for people.
	States []string
}

// Expect returns the possible results of each step of a workload's script, in a run
// without faults.
func Expect(w harness.Workload) ([][]Expected, error) {
	steps, err := w.Steps()
	now := map[int][]Config{}
	for n := range w.WithDefaults().Containers {
		now[n] = []Config{{}}
	}
	out := make([][]Expected, len(steps))
	for n, step := range steps {
		of := step.Of
		if step.Verb == "restart" {
			for c := range len(now) {
				of = append(of, script.Container(c))
			}
		}
		for _, of := range of {
			calls := []Call{CallOf(w, steps, n, step.Verb, of)}
			if step.Verb == script.Exec && w.API != harness.CRI {
				calls = []Call{CallOf(w, steps, n, "add", of), CallOf(w, steps, n, "start", of)}
			}
			e := Expected{Of: of}
			about := []int{of.Container}
			if of == script.ThePod { // each container is in it
				about = slices.Collect(maps.Keys(now))
			}
			for _, c := range about {
				e.Responses, now[c] = expected(now[c], calls, step.Concurrent)
				for _, config := range now[c] {
					e.States = append(e.States, config.State(of).String())
				}
			}
			slices.Sort(e.States)
			e.States = slices.Compact(e.States)
			out[n] = append(out[n], e)
		}
	}
	return out, err
}

// expected returns the possible responses to the calls of one step, and the
// configurations after them. A step makes its next call only if the call before
// succeeded. A concurrent step may not have made its calls yet.
func expected(now []Config, calls []Call, concurrent bool) (responses []harness.Response, after []Config) {
	for _, c := range withEnds(now) {
		response, next := c.Do(calls[0])
		for _, call := range calls[1:] {
			if response == harness.Done {
				response, next = next.Do(call)
			}
		}
		if response == "" {
			continue // the call waits in this configuration, and continues in another
		}
		if !slices.Contains(responses, response) {
			responses = append(responses, response)
		}
		if !slices.Contains(after, next) {
			after = append(after, next)
		}
	}
	if concurrent || len(after) == 0 {
		for _, c := range now {
			if !slices.Contains(after, c) {
				after = append(after, c)
			}
		}
	}
	return responses, withEnds(after)
}

// withEnds returns these configurations, and also the ones after the end of processes
// that can end by themselves.
func withEnds(now []Config) []Config {
	all := slices.Clone(now)
	for n := 0; n < len(all); n++ {
		for _, c := range all[n].ends(true) {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all
}
