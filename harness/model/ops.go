package model

import (
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/harness/script"
)

// Next are the configurations after a call that has got a response. After a lost response
// the call has taken effect, or not.
func (c Config) Next(call Call, got harness.Response) []Config {
	response, next := c.Do(call)
	switch {
	case got == harness.Lost && response == harness.Done:
		return []Config{c, next}
	case got == harness.Lost || got == response:
		return []Config{next}
	case call.Beside && (got != harness.Done || call.Verb == "delete" && c.State(call.Of) == None):
		return []Config{c}
	}
	return nil
}

// Anyway are the configurations to go on with after a response that the model does not
// allow.
func (c Config) Anyway(call Call, got harness.Response) []Config {
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

// Sees is the configuration itself where it allows what was reported of an object.
func (c Config) Sees(of script.Object, value string) []Config {
	if c.Reported(of) == value {
		return []Config{c}
	}
	return nil
}

// Believe is the configuration with the state that was reported of an object.
func (c Config) Believe(of script.Object, value string) []Config {
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
