package plan

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/fixtures/containerd"
	"github.com/shimquake/shimquake/spelling"
)

// Options choose what is planned. The zero value is the default sweep.
type Options struct {
	// Containerd is the containerd under test: a release, bin:DIR or src:DIR. Default:
	// the default release.
	Containerd string
	// The processes in which faults happen: daemon, shim. Default: both.
	Who []string
	// Actions are the actions at each point. Default: crash, error, code, errno, cancel,
	// hang.
	Actions []string
	// Paths are the client's steps during which a fault happens: create, start, exit,
	// delete, load. Default: all.
	Paths []string
	// Workloads are the names of the workloads. Default: DefaultWorkloads.
	Workloads []string
	// Hits selects the hits of a point. "first" is the first hit, and "path" the first
	// hit on each path. A number N is the first N hits on each path, and "all" is every
	// hit. Default: first.
	Hits string
	// Points is matched against the names of points. Default: all points.
	Points *regexp.Regexp
	// EveryWorkload plans a hit in each workload that has it. Default: only in the
	// cheapest.
	EveryWorkload bool
	// AsItIs also plans workloads that are violated without a fault.
	AsItIs bool
	// Cache is the folder that [CacheDir] returns. Default: nothing is kept.
	Cache string
	// Fresh makes the plan, and runs the cases without a fault, even if the cache has them.
	Fresh bool
}

// Paths are the words of --path: what the client does when a fault happens.
var Paths = []string{"create", "start", "exit", "delete", "load"}

// Processes are the words of --who.
var Processes = []string{"daemon", "shim"}

// WithDefaults returns the options with the documented defaults filled in.
func (o Options) WithDefaults() Options {
	fill := func(list *[]string, by ...string) {
		if len(*list) == 0 {
			*list = by
		}
	}
	o.Containerd = cmp.Or(o.Containerd, containerd.DefaultRelease)
	fill(&o.Who, Processes...)
	if slices.Contains(o.Who, "both") {
		o.Who = Processes
	}
	fill(&o.Actions, "crash", "error", Code, Errno, "cancel", "hang")
	fill(&o.Paths, Paths...)
	fill(&o.Workloads, DefaultWorkloads()...)
	if o.Hits == "" {
		o.Hits = "first"
	}
	if o.Points == nil {
		o.Points = regexp.MustCompile("")
	}
	return o
}

// Check returns what is wrong with the options, and which values are valid.
func (o Options) Check() error {
	o = o.WithDefaults()
	var errs []error
	for _, list := range []struct {
		what         string
		words, known []string
	}{
		{"--who", o.Who, append(slices.Clone(Processes), "both")},
		{"--path", o.Paths, Paths},
		{"--workload", o.Workloads, WorkloadNames()},
	} {
		for _, w := range list.words {
			if !slices.Contains(list.known, w) {
				errs = append(errs, spelling.Unknown(list.what, w, list.known))
			}
		}
	}
	for _, a := range o.Actions {
		errs = append(errs, checkAction(a))
	}
	_, err := o.hits()
	return errors.Join(append(errs, err)...)
}

// hasDefaultHits reports whether the options differ from the default sweep at most in
// processes and actions. Other paths, workloads or points can change which hit of a point
// comes first, or which workload is its cheapest.
func (o Options) hasDefaultHits() bool {
	whole, all := Options{}.WithDefaults(), o.WithDefaults()
	all.Who, all.Actions = whole.Who, whole.Actions
	return all.String() == whole.String()
}

// hits returns how many hits of a point are swept, or 0 for all.
func (o Options) hits() (int, error) {
	switch o.Hits {
	case "", "first", "path":
		return 1, nil
	case "all":
		return 0, nil
	}
	n, err := strconv.Atoi(o.Hits)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("--hits %q: want first, path, all, or a number of hits on each path", o.Hits)
	}
	return n, nil
}

// String returns the options as a user would type them, with the defaults. Error messages
// print this text, and plans with the same text have the same options.
func (o Options) String() string {
	o = o.WithDefaults()
	s := fmt.Sprintf("--who %s --actions %s --path %s --workload %s --hits %s", strings.Join(o.Who, ","),
		strings.Join(o.Actions, ","), strings.Join(o.Paths, ","), strings.Join(o.Workloads, ","), o.Hits)
	if o.EveryWorkload {
		s += " --every-workload"
	}
	return strings.TrimSpace(s + " " + o.Narrowed())
}

// Keeps reports whether --points matches the point's name.
func (o Options) Keeps(p failpoints.Point) bool { return o.Points.MatchString(p.String()) }

// Narrowed returns the option --points as a user would type it, or "" if the option was
// not used.
func (o Options) Narrowed() string {
	if o.Points.String() == "" {
		return ""
	}
	return fmt.Sprintf("--points %q", o.Points)
}
