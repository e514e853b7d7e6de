package plan

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
)

// Spec is one case of a plan: a workload, and the faults that happen in it. In JSON:
//
//	{"workload": "task", "faults": [
//	  {"at": "rpc:shim:Task.Shutdown:entry", "hit": 1, "do": "crash", "path": "delete"}]}
type Spec struct {
	// Workload is its name: task, restart or cri.
	Workload string `json:"workload"`
	// Faults are at least one. The last is the one that a plan varies; those before it lead
	// to it.
	Faults []Fault `json:"faults"`
	// Unsteady is set where not every trace passed the hit of the last fault, or its process
	// had been asked to exit by then: one that is traced is slower, and comes further.
	Unsteady bool `json:"unsteady,omitempty"`
	// Ending is set where it is unsteady for the second reason alone.
	Ending bool `json:"ending,omitempty"`
}

// Tries is how often the case runs while its fault does not fire. What every trace had a
// busy machine may not have three times in a row (a shim that finds containerd up again
// has no second connect), so that only eight times tell that the hit is gone.
func (s Spec) Tries() int {
	if s.Unsteady {
		return 3
	}
	return 8
}

// Single is a case of one fault at a pass.
func Single(p Pass, action, workload string) Spec {
	return Spec{Workload: workload, Faults: []Fault{{Point: p.Point, Nth: p.Nth, Action: action, Path: p.Path}}}
}

// Then is the case in which a second fault happens at a pass after the spec's own.
func (s Spec) Then(p Pass, action string) Spec {
	second := Single(p, action, s.Workload)
	second.Faults = append(append([]Fault(nil), s.Faults...), second.Faults...)
	return second
}

// On is the spec with the paths on which its faults have fired, where those are known.
func (s Spec) On(paths []string) Spec {
	s.Faults = slices.Clone(s.Faults)
	for i := range s.Faults {
		if i < len(paths) && paths[i] != "" {
			s.Faults[i].Path = paths[i]
		}
	}
	return s
}

// Last is the fault that a plan varies.
func (s Spec) Last() Fault { return s.Faults[len(s.Faults)-1] }

// String is for people: the last fault and the workload, and then the other faults.
func (s Spec) String() string {
	text := fmt.Sprintf("%s of %s", s.Last(), s.Workload)
	for _, f := range s.Faults[:len(s.Faults)-1] {
		text += " + " + f.String()
	}
	return text
}

// Key is the same text for cases that do the same. Unsteady says something of one plan
// only, and is no part of it.
func (s Spec) Key() string {
	last := s.Last()
	text := fmt.Sprintf("%s %d %s %s %s", last.Point, last.Nth, last.Action, last.Path, s.Workload)
	for _, f := range s.Faults[:len(s.Faults)-1] {
		text += strings.TrimSuffix(" "+f.String()+" "+f.While, " ")
	}
	return strings.TrimSuffix(text+" "+last.While, " ")
}

// Order spreads the cases of a plan evenly and always alike. Neighbours often leak alike,
// and a leak is waited for: one after the other they would leave the processors idle.
func (s Spec) Order() uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.Key())) // a hash takes everything
	return h.Sum64()
}

// Simpler compares by how much a reader has to know: fewer faults come first, then hits
// that every trace has, the simplest action, the cheapest workload and the earliest hit.
func Simpler(a, b Spec) int {
	x, y := a.Last(), b.Last()
	return cmp.Or(
		cmp.Compare(len(a.Faults), len(b.Faults)), compareBools(a.Unsteady, b.Unsteady),
		cmp.Compare(simplicity(x.Word()), simplicity(y.Word())),
		cmp.Compare(cost(a.Workload), cost(b.Workload)), cmp.Compare(x.Nth, y.Nth),
	)
}

// longestName is how many bytes of the names of functions a case's name has.
const longestName = 120

// name is the name of the spec's case: lower-case words joined by dashes. It names a
// folder, so of several faults it has the functions only, and a digest.
func (s Spec) name() string {
	if len(s.Faults) == 1 {
		f := s.Faults[0]
		text := strings.TrimPrefix(f.Point.String(), string(f.Point.Kind)+":") + "-" + f.named()
		if f.Nth > 1 {
			text += fmt.Sprintf("-%d", f.Nth)
		}
		return Slug(text)
	}
	var parts []string
	for _, f := range s.Faults {
		parts = append(parts, f.Point.What+"-"+f.named())
	}
	text := Slug(strings.Join(parts, "-"))
	return fmt.Sprintf("%s-%08x", text[:min(len(text), longestName)], uint32(s.Order()))
}

// Slug makes a case's name of any text.
func Slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.':
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}

// Case is the case that the spec stands for, on a subject. The error is that of a name
// that this build does not know.
func (s Spec) Case(containerd string) (harness.Case, error) {
	if len(s.Faults) == 0 {
		return harness.Case{}, errors.New("a case of a sweep needs a fault")
	}
	w, err := workloadNamed(s.Workload)
	if err != nil {
		return harness.Case{}, err
	}
	c := harness.Case{Name: s.name(), Containerd: containerd, Workload: w.Workload}
	var about []string
	for _, f := range s.Faults {
		fault, err := f.Fault()
		if err != nil {
			return harness.Case{}, err
		}
		c.Plan = append(c.Plan, fault)
		about = append(about, fmt.Sprintf("%s at %s, while the client is at %s", f.Action, f.Point, f.Path))
	}
	c.About = fmt.Sprintf("%s (workload %s).", strings.Join(about, "; "), s.Workload)
	return c, nil
}
