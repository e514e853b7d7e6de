package sweep

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
)

// Deed is one fault of a case: an action at a hit of a point. A Spec is a deed in a workload, with others if need be.
type Deed struct {
	Point  string `json:"at"`
	Nth    int    `json:"hit"`
	Action string `json:"do"`
	Path   string `json:"path"`
	While  string `json:"while,omitempty"`
}

// mostOthers is how many faults a case may have besides its first.
const mostOthers = 3

// Others are the other faults of a Spec: an array, so that specs can be compared. Unused ones have no Point.
type Others [mostOthers]Deed

// Deeds are those that are used.
func (o Others) Deeds() []Deed {
	for i, d := range o {
		if d.Point == "" {
			return o[:i]
		}
	}
	return o[:]
}

// MarshalJSON is a list of those that are used.
func (o Others) MarshalJSON() ([]byte, error) { return json.Marshal(o.Deeds()) }

// UnmarshalJSON reads such a list.
func (o *Others) UnmarshalJSON(text []byte) error {
	var list []Deed
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	if len(list) > mostOthers {
		return fmt.Errorf("%d other faults: a case of a sweep has at most %d", len(list), mostOthers)
	}
	*o = Others{}
	copy(o[:], list)
	return nil
}

// deeds are all faults of the spec: those that come first, and then its own.
func (s Spec) deeds() []Deed {
	return append(append([]Deed(nil), s.Also.Deeds()...), Deed{s.Point, s.Nth, s.Action, s.Path, s.While})
}

// alone are the spec's faults, where there are several, each by itself: the last first.
func (s Spec) alone() []Spec {
	if s.Also == (Others{}) {
		return nil
	}
	var out []Spec
	for _, d := range s.deeds() {
		out = append([]Spec{{Point: d.Point, Nth: d.Nth, Action: d.Action, Path: d.Path, Workload: s.Workload, While: d.While}}, out...)
	}
	return out
}

// String is for people.
func (d Deed) String() string {
	hit := ""
	if d.Nth > 1 {
		hit = fmt.Sprintf(" (hit %d)", d.Nth)
	}
	return fmt.Sprintf("%s%s %s, %s", d.Point, hit, d.Action, d.Path)
}

// fault is what the deed is in a plan.
func (d Deed) fault() (failpoints.Fault, error) {
	at, err := failpoints.ParsePoint(d.Point)
	if err != nil {
		return failpoints.Fault{}, err
	}
	f := failpoints.Fault{At: at, While: steps(d.Action)}
	if f.Do, err = d.term(); err != nil || d.While == "" {
		return f, err
	}
	f.While = nil
	for _, text := range strings.Split(d.While, ",") {
		st, err := failpoints.ParseStep(text)
		if err != nil {
			return f, err
		}
		f.While = append(f.While, st)
	}
	return f, nil
}

// term is the action at the n-th hit, once.
func (d Deed) term() (term.Term, error) {
	text := "1*" + d.Action
	if d.Nth > 1 {
		text = fmt.Sprintf("%d*off->%s", d.Nth-1, text)
	}
	return term.Parse(text)
}
