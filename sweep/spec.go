package sweep

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/shimquake/shimquake/harness"
)

// Spec is one case of a plan: an action at a hit of a point. It is small, because a plan has thousands.
type Spec struct {
	// Point is the name of a point: rpc:shim:Task.Shutdown:entry.
	Point string `json:"at"`
	// Nth is the hit of the point in the whole case, from 1.
	Nth int `json:"hit"`
	// Action is what happens there, with its argument: crash, error, delay(6000).
	Action string `json:"do"`
	// Path is what the client is doing then: create, start, exit, delete or load.
	Path string `json:"path"`
	// Workload is its name: task, restart or cri.
	Workload string `json:"workload"`
	// Unsteady says that not every trace passed this hit.
	Unsteady bool `json:"unsteady,omitempty"`
	// While are the steps of a pause, joined by commas. Default: those of steps.
	While string `json:"while,omitempty"`
	// Also are the case's other faults.
	Also Others `json:"also,omitzero"`
}

// String is for people: the point, the hit if it is not the first, the action and where.
func (s Spec) String() string {
	hit := ""
	if s.Nth > 1 {
		hit = fmt.Sprintf(" (hit %d)", s.Nth)
	}
	text := fmt.Sprintf("%s%s %s, %s of %s", s.Point, hit, s.Action, s.Path, s.Workload)
	for _, d := range s.Also.Deeds() {
		text += " + " + d.String()
	}
	return text
}

// name is the name of the spec's case: lower-case words joined by dashes. Of several faults it has the functions only, and a digest: it names a folder.
func (s Spec) name() string {
	if s.Also != (Others{}) {
		var parts []string
		for _, d := range s.deeds() {
			parts = append(parts, placeOf(d.Point).function+"-"+word(d.Action))
		}
		text := slug(strings.Join(parts, "-"))
		return fmt.Sprintf("%s-%08x", text[:min(len(text), longestName)], uint32(s.order()))
	}
	text := strings.TrimPrefix(strings.TrimPrefix(s.Point, "stmt:"), "rpc:") + "-" + word(s.Action)
	if s.Nth > 1 {
		text += fmt.Sprintf("-%d", s.Nth)
	}
	return slug(text)
}

// longestName is how many bytes of the names of functions a case's name has.
const longestName = 120

// slug makes a case's name of any text.
func slug(text string) string {
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

// word is an action without its argument.
func word(action string) string {
	w, _, _ := strings.Cut(action, "(")
	return w
}

// Case is the case that the spec stands for, on a subject. The error is that of a name that this build does not know.
func (s Spec) Case(containerd string) (harness.Case, error) {
	w, err := workloadNamed(s.Workload)
	if err != nil {
		return harness.Case{}, err
	}
	c := harness.Case{Name: s.name(), Containerd: containerd, Workload: w.Workload}
	var about []string
	for _, d := range s.deeds() {
		f, err := d.fault()
		if err != nil {
			return harness.Case{}, err
		}
		c.Plan = append(c.Plan, f)
		about = append(about, fmt.Sprintf("%s at %s, while the client is at %s", d.Action, d.Point, d.Path))
	}
	c.About = fmt.Sprintf("%s (workload %s).", strings.Join(about, "; "), s.Workload)
	return c, nil
}

// order spreads the cases of a plan evenly and always alike: neighbours often leak alike, and a leak is waited for, so that one after the other they
// would leave the processors idle.
func (s Spec) order() uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d %s %s %s", s.Point, s.Nth, s.Action, s.Path, s.Workload)
	for _, d := range s.Also.Deeds() {
		fmt.Fprintf(h, " %s", d)
	}
	if s.While != "" {
		fmt.Fprintf(h, " %s", s.While)
	}
	return h.Sum64()
}

// shared says whether containers of the case's workload share a shim.
func (s Spec) shared() bool {
	w, err := workloadNamed(s.Workload)
	return err != nil || sharesShim(w.Workload)
}

func sharesShim(w harness.Workload) bool { return w.API == harness.CRI || w.Grouped }
