package failpoints

import (
	"fmt"
	"github.com/shimquake/shimquake/spelling"
	"maps"
	"slices"
	"strings"
	"time"
)

// Step is an action of the harness while a process is paused at a point.
type Step struct {
	Verb string // cancel, await, ask, kill, stop, cont, start, sleep, release
	Who  string // call, removal, exit, shim, containerd, task, sandbox
	For  time.Duration
}

func (s Step) String() string {
	switch {
	case s.For > 0:
		return s.Verb + " " + s.For.String()
	case s.Who != "":
		return s.Verb + " " + s.Who
	}
	return s.Verb
}

// objects are the objects of each verb.
var objects = map[string][]string{
	// Cancels the context of the client's call in flight.
	"cancel": {"call"},
	// Waits until the client's call in flight has ended, until the client has removed
	// everything, or until the first container's payload has recorded its exit.
	"await": {"call", "removal", "exit"},
	// Asks for the state of the first container, and needs a response. It would fail at a
	// point that holds the response.
	"ask": {"task"},
	// SIGKILL, SIGSTOP and SIGCONT.
	"kill": {"shim", "containerd", "task", "sandbox"},
	"stop": {"shim", "containerd"},
	"cont": {"shim", "containerd"},
	// After kill containerd. Without it, containerd is started when the steps end.
	"start": {"containerd"},
	"sleep": nil,
	// Releases the paused process. Without it, the process is released when the steps
	// end.
	"release": nil,
}

// ParseStep parses a step such as "kill shim", "sleep 2s" or "release".
func ParseStep(s string) (Step, error) {
	words := strings.Fields(s)
	if len(words) == 0 {
		return Step{}, fmt.Errorf("an empty step; expected for example %q", "kill containerd")
	}
	who, ok := objects[words[0]]
	if !ok {
		return Step{}, spelling.Unknown("step "+quote(s)+": verb", words[0], slices.Sorted(maps.Keys(objects)))
	}
	st := Step{Verb: words[0]}
	switch {
	case st.Verb == "sleep" && len(words) == 2:
		d, err := time.ParseDuration(words[1])
		if err != nil || d <= 0 || d > time.Hour {
			return Step{}, fmt.Errorf("step %q: expected a duration up to 1h, such as sleep 2s", s)
		}
		st.For = d
	case st.Verb == "sleep":
		return Step{}, fmt.Errorf("step %q: expected a duration, such as sleep 2s", s)
	case len(who) == 0 && len(words) == 1:
	case len(words) == 2 && slices.Contains(who, words[1]):
		st.Who = words[1]
	case len(words) == 2 && len(who) > 0:
		return Step{}, spelling.Unknown("step "+quote(s)+": object", words[1], who)
	case len(who) == 0:
		return Step{}, fmt.Errorf("step %q: %s stands alone", s, st.Verb)
	default:
		return Step{}, fmt.Errorf("step %q: expected %s and one of %s", s, st.Verb, strings.Join(who, ", "))
	}
	return st, nil
}

// Steps parses steps in source code; it panics if ParseStep returns an error.
func Steps(texts ...string) []Step {
	steps := make([]Step, len(texts))
	for i, s := range texts {
		st, err := ParseStep(s)
		if err != nil {
			panic(err)
		}
		steps[i] = st
	}
	return steps
}
