package model

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
)

// Next returns the possible configurations after a call with this response. If the
// response was lost, the call may have taken effect or not. A restart of containerd
// deletes an exited task, or keeps it (fixes/load-keeps-exited-tasks.patch).
func (c Config) Next(call Call, got harness.Response) []Config {
	response, next := c.Do(call)
	switch {
	case got == harness.Lost && response == harness.Done,
		got == harness.Done && call.Verb == "restart" && c.Task.State == Stopped:
		return []Config{c, next}
	case got == harness.Lost || got == response:
		return []Config{next}
	case call.Beside && (got != harness.Done || call.Verb == "delete" && c.State(call.Of) == None):
		return []Config{c}
	}
	return nil
}

// NextDespite returns the configurations with which the model continues after a
// response that it does not allow.
func (c Config) NextDespite(call Call, got harness.Response) []Config {
	_, next := c.Do(call)
	switch {
	case got == harness.Done && call.Verb == "create":
		next = Config{Task: Process{State: Created, Released: call.AtOnce}}
	case got == harness.Done && call.Verb == "CreateContainer":
		next.Task = Process{State: Created, Released: call.AtOnce}
	}
	if next == c {
		return []Config{c}
	}
	return []Config{c, next}
}

// Faulted returns the configurations that are possible if a fault may have changed the
// task. A task only goes on: it may have started or ended, and containerd may have
// deleted it. Only a create makes it.
func (c Config) Faulted() []Config {
	after := map[State][]State{
		Created: {Created, Running, Paused, Stopped}, Running: {Running, Paused, Stopped},
		Paused: {Running, Paused, Stopped}, Stopped: {Stopped},
	}
	all := []Config{{}}
	for _, s := range after[c.Task.State] {
		ends := s != Stopped
		all = append(all, Config{Task: Process{State: s, Killed: ends, Released: ends}})
	}
	return all
}

// AfterFault returns the configurations that are possible after a call with this
// response, if a fault may have changed the task by then.
func (c Config) AfterFault(call Call, got harness.Response) (all []Config) {
	before := c.Faulted()
	switch {
	case call.Verb == "create" && got != harness.Exists:
		return append(before, Config{Task: Process{State: Created}}.Faulted()...)
	case got != harness.Done:
		return before
	}
	if call.Verb == "restart" { // the clean-up of an ended task may have failed
		all = before
	}
	for _, b := range before {
		all = append(all, b.Next(call, got)...)
	}
	return all
}

// Allows returns the configuration itself if it agrees with the reported value of an
// object, and nil otherwise.
func (c Config) Allows(of script.Object, value string) []Config {
	if c.Reported(of) == value {
		return []Config{c}
	}
	return nil
}

// Adopt returns the configuration, changed to the reported state of an object. The
// model continues with it after a report that it does not allow.
func (c Config) Adopt(of script.Object, value string) []Config {
	for s := range stateNames {
		if next := c; true {
			next.set(of, State(s))
			if next.Reported(of) == value {
				return []Config{next}
			}
		}
	}
	return []Config{c}
}
