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
	// Point is where it happens; in JSON its name: rpc:shim:Task.Shutdown:entry.
	Point failpoints.Point `json:"at"`
	// Nth is the hit of the point in the whole case, from 1.
	Nth int `json:"hit"`
	// Action is what happens there, with its argument: crash, error(x), delay(6000).
	Action string `json:"do"`
	// Path is what the client is doing then: create, start, exit, delete or load.
	Path string `json:"path"`
	// While are the steps of a pause, joined by commas. Default: the client cancels its
	// call, and waits until it has ended.
	While string `json:"while,omitempty"`
}

// String is for people: the point, the hit if it is not the first, the action and the
// path.
func (f Fault) String() string {
	hit := ""
	if f.Nth > 1 {
		hit = fmt.Sprintf(" (hit %d)", f.Nth)
	}
	return fmt.Sprintf("%s%s %s, %s", f.Point, hit, f.Action, f.Path)
}

// Word is the action without its argument: of error(NotFound) it is code, of
// error(ENOSPC) errno.
func (f Fault) Word() string { return word(f.Action) }

// named is the action in a case's name: there may be several typed errors at a hit.
func (f Fault) named() string {
	if w := f.Word(); w == Code || w == Errno {
		return f.Action
	}
	return f.Word()
}

// Place is the process and the function, or method, that the point is in.
func (f Fault) Place() string { return f.Point.Who + " " + f.Point.What }

// Kills reports whether the fault ends the process.
func (f Fault) Kills() bool { return slices.Contains([]string{"crash", "panic"}, f.Word()) }

// Meeting is what two faults of one case cannot share: only one of them would be met.
func (f Fault) Meeting() Fault {
	return Fault{Point: f.Point, Nth: f.Nth, Action: string(verb(f.Action).Moment())}
}

// Fault is what it is in the plan of a case.
func (f Fault) Fault() (failpoints.Fault, error) {
	do, err := f.term()
	if err != nil {
		return failpoints.Fault{}, err
	}
	out := failpoints.Fault{At: f.Point, Do: do}
	steps := f.While
	if steps == "" && f.Word() == string(term.Pause) { // the client goes away, as one that has lost patience
		steps = "cancel client,await client,release"
	}
	for text := range strings.FieldsFuncSeq(steps, func(r rune) bool { return r == ',' }) {
		step, err := failpoints.ParseStep(text)
		if err != nil {
			return out, err
		}
		out.While = append(out.While, step)
	}
	return out, nil
}

// term is the action at the n-th hit, once.
func (f Fault) term() (term.Term, error) {
	text := "1*" + f.Action
	if f.Nth > 1 {
		text = fmt.Sprintf("%d*off->%s", f.Nth-1, text)
	}
	return term.Parse(text)
}
