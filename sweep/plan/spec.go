package plan

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/shimquake/shimquake/harness"
)

// Spec is one case of a plan: a workload and its faults. In JSON:
//
//	{"workload": "task", "faults": [
//	  {"at": "rpc:shim:Task.Shutdown:entry", "hit": 1, "do": "crash", "path": "delete"}]}
type Spec struct {
	// Workload is the workload's name: task, restart or cri. It is "case NAME" for a case of
	// the catalogue.
	Workload string `json:"workload"`
	// Own is the workload of a random script, which has no name. Workload is then
	// OwnScript.
	Own *harness.Workload `json:"own,omitempty"`
	// Faults has at least one fault. The plan varies the last one. The faults before it
	// lead to the last one's hit.
	Faults []Fault `json:"faults"`
	// Unsteady is set if the process had already been asked to exit. A traced process exits
	// later, so it may reach a hit that it does not reach without the trace.
	Unsteady bool `json:"unsteady,omitempty"`
	// Further is set for a case that the default sweep adds to the first hits of its
	// workloads.
	Further bool `json:"further,omitempty"`
	// Thorough is set if runc's shim, and not the fake shim, uses the first container's id
	// again, see harness.Workload.
	Thorough bool `json:"thorough,omitempty"`
}

// MaxRuns returns how often the case runs while its fault does not fire. On a busy
// machine a hit of every trace may be missing three times in a row. For example, a shim
// whose first connection to a restarted containerd succeeds does not connect a second
// time. Eight misses show that the hit no longer occurs.
func (s Spec) MaxRuns() int {
	if s.Unsteady {
		return 3
	}
	return 8
}

// Single returns a case with one fault, at a hit.
func Single(p Hit, action, workload string) Spec {
	return Spec{Workload: workload, Faults: []Fault{{Point: p.Point, Nth: p.Nth, Action: action, Path: p.Path}}}
}

// Then returns the case with one more fault, at a hit after the spec's own.
func (s Spec) Then(p Hit, action string) Spec {
	second := Single(p, action, s.Workload)
	second.Faults = append(append([]Fault(nil), s.Faults...), second.Faults...)
	return second
}

// On returns the spec with the planned paths replaced by the paths on which its faults
// fired. An empty path changes nothing.
func (s Spec) On(paths []string) Spec {
	s.Faults = slices.Clone(s.Faults)
	for i := range s.Faults {
		if i < len(paths) && paths[i] != "" {
			s.Faults[i].Path = paths[i]
		}
	}
	return s
}

// Last returns the last fault, which the plan varies. Some cases of the catalogue have
// none.
func (s Spec) Last() Fault {
	if len(s.Faults) == 0 {
		return Fault{}
	}
	return s.Faults[len(s.Faults)-1]
}

// String returns the last fault, the workload and the other faults, for people.
func (s Spec) String() string {
	if len(s.Faults) == 0 {
		return s.Workload
	}
	text := fmt.Sprintf("%s of %s", s.Last(), s.Workload)
	for _, f := range s.Faults[:len(s.Faults)-1] {
		text += " + " + f.String()
	}
	return text
}

// Key returns the same text for cases that do the same. The text omits Unsteady and the
// paths, because another plan of the same case may have others.
func (s Spec) Key() string {
	if s.CaseName() != "" {
		return s.Workload
	}
	last := s.Last()
	text := fmt.Sprintf("%s %d %s %s", last.Point, last.Nth, last.repeated(), s.Workload)
	for _, f := range s.Faults[:len(s.Faults)-1] {
		f.Path = ""
		text += strings.TrimSuffix(" "+f.String()+" "+f.Meanwhile, " ")
	}
	if s.Own != nil {
		text += " " + strings.Join(s.Own.Script, "; ")
	}
	if s.Thorough {
		text += " thorough"
	}
	return strings.TrimSuffix(text+" "+last.Meanwhile, " ")
}

// Order returns a number by which a sweep orders its cases. The order separates
// neighbours of the plan, which often have the same leak. Cases that wait for leaks at
// the same time would leave the processors idle.
func (s Spec) Order() uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.Key())) // a hash takes everything
	return h.Sum64()
}

// Simpler orders specs by how much a reader must know to understand them. It compares the
// number of faults, Unsteady, the action, the workload's cost and the number of the hit.
func Simpler(a, b Spec) int {
	x, y := a.Last(), b.Last()
	return cmp.Or(
		cmp.Compare(len(a.Faults), len(b.Faults)), compareBools(a.Unsteady, b.Unsteady),
		cmp.Compare(simplicity(x.Word()), simplicity(y.Word())),
		cmp.Compare(indexOf(a.Workload), indexOf(b.Workload)), cmp.Compare(x.Nth, y.Nth),
	)
}

// longestName limits the function names in a case's name, in bytes.
const longestName = 120

// name returns the name of the spec's case: lower-case words joined by dashes. It is also
// the name of a folder, so a name with several faults is shortened: it has only their
// functions, and a digest.
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

// Slug turns any text into a case's name.
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

// hangLimit is the time limit of the client's calls in a case in which one hangs. Beside
// others a call hangs for the usual time, because they wait longer than this.
const hangLimit = 2 * time.Second

// Case returns the spec's case on a subject. It returns an error if this build does not
// know the workload or a fault.
func (s Spec) Case(containerd string) (harness.Case, error) {
	if c, ok, err := s.catalogued(); ok {
		c.Containerd = containerd
		return c, err
	}
	if len(s.Faults) == 0 {
		return harness.Case{}, errors.New("the case has no faults: a case of a sweep needs a fault")
	}
	w, err := s.workload()
	if err != nil {
		return harness.Case{}, err
	}
	c := harness.Case{Name: s.name(), Containerd: containerd, Workload: w}
	c.Workload.Thorough = c.Workload.Thorough || s.Thorough
	var about []string
	for _, f := range s.Faults {
		if f.Word() == "hang" && c.Workload.CallTimeout == 0 && !c.Workload.Bystander {
			c.Workload.CallTimeout = hangLimit
		}
		fault, err := f.Fault()
		if err != nil {
			return harness.Case{}, err
		}
		c.Plan = append(c.Plan, fault)
		about = append(about, fmt.Sprintf("%s at %s, while the client is at %s", f.repeated(), f.Point, f.Path))
	}
	c.About = fmt.Sprintf("%s (workload %s).", strings.Join(about, "; "), s.Workload)
	return c, nil
}
