package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// Fault is an action at a hit of a point.
type Fault struct {
	// Point is where the action happens. In JSON it is the point's name, for example
	// "rpc:shim:Task.Shutdown:entry".
	Point failpoints.Point `json:"at"`
	// Nth is the number of the point's hit in the whole case, from 1.
	Nth int `json:"hit"`
	// Action is the action with its argument: crash, error(x), delay(6000).
	Action string `json:"do"`
	// Times is the number of consecutive hits at which the action happens. Default: 1.
	Times int `json:"times,omitempty"`
	// Path names what the client does at that time: create, start, exit, delete or load.
	Path string `json:"path"`
	// Meanwhile has the steps that run during a pause, joined by commas. Default: the
	// client cancels its call and waits until the call has returned, and then the pause
	// ends.
	Meanwhile string `json:"meanwhile,omitempty"`
}

// String returns a text for people: the point, the number of the hit if it is not 1, the
// action and the path.
func (f Fault) String() string {
	hit := ""
	if f.Nth > 1 {
		hit = fmt.Sprintf(" (hit %d)", f.Nth)
	}
	return strings.TrimSuffix(fmt.Sprintf("%s%s %s, %s", f.Point, hit, f.repeated(), f.Path), ", ")
}

// repeated returns the action, and its number of hits if it is not 1: 2*error(x).
func (f Fault) repeated() string {
	if f.Times > 1 {
		return fmt.Sprintf("%d*%s", f.Times, f.Action)
	}
	return f.Action
}

// Word returns the action's word of --actions: the action without its argument, "code"
// for error(NotFound), or "errno" for error(ENOSPC).
func (f Fault) Word() string { return word(f.Action) }

// named returns the action for the name of a case. A typed error keeps its argument,
// because several typed errors may be planned at the same hit.
func (f Fault) named() string {
	if w := f.Word(); w != Code && w != Errno {
		f.Action = w
	}
	return f.repeated()
}

// Place returns the process and the function or method of the point.
func (f Fault) Place() string { return f.Point.Who + " " + f.Point.What }

// Kills reports whether the fault ends the process.
func (f Fault) Kills() bool { return slices.Contains([]string{"crash", "panic"}, f.Word()) }

// HitKey returns the part of the fault that identifies the hit. Two faults of one case
// with the same Meeting cannot both happen.
func (f Fault) HitKey() Fault {
	return Fault{Point: f.Point, Nth: f.Nth, Action: string(verb(f.Action).Moment())}
}

// Fault returns the fault in the form of a case file's plan.
func (f Fault) Fault() (failpoints.Fault, error) {
	do, err := f.term()
	if err != nil {
		return failpoints.Fault{}, err
	}
	out := failpoints.Fault{At: f.Point, Do: do}
	steps := f.Meanwhile
	if steps == "" && f.Word() == string(term.Pause) { // the client cancels its call, as after a timeout
		steps = "cancel call,await call,release"
	}
	for text := range strings.FieldsFuncSeq(steps, func(r rune) bool { return r == ',' }) {
		step, err := failpoints.ParseStep(text)
		if err != nil {
			return out, err
		}
		out.Meanwhile = append(out.Meanwhile, step)
	}
	return out, nil
}

// term returns the failpoint term that runs the action at hit Nth, and at the next ones
// if Times is more than 1.
func (f Fault) term() (term.Term, error) {
	text := fmt.Sprintf("%d*%s", max(f.Times, 1), f.Action)
	if f.Nth > 1 {
		text = fmt.Sprintf("%d*off->%s", f.Nth-1, text)
	}
	return term.Parse(text)
}
