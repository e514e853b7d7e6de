package plan

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/spelling"
)

// Options choose what is planned. The zero value is the default sweep.
type Options struct {
	// Containerd is the subject: a release, bin:DIR or src:DIR. Default: the default
	// release.
	Containerd string
	// Who are the processes whose points are swept: daemon, shim. Default: both.
	Who []string
	// Actions are what happens at each point. Default: crash, error, code,
	// errno, cancel.
	Actions []string
	// Paths are what the client does meanwhile: create, start, exit, delete, load. Default:
	// all.
	Paths []string
	// Workloads are the names of the workloads. Default: DefaultWorkloads.
	Workloads []string
	// Hits is which hits of a point are swept: its first (first), the first on each path
	// (path), the first N on each path, or all. Default: first.
	Hits string
	// Points must match a point's name. Default: all.
	Points *regexp.Regexp
	// EveryWorkload sweeps a point in each workload that reaches it so. Default: in the
	// cheapest.
	EveryWorkload bool
	// AsItIs makes a plan of workloads that are violated without a fault, too.
	AsItIs bool
}

// Paths are the names of what a client does.
var Paths = []string{"create", "start", "exit", "delete", "load"}

// Whos are the words for processes.
var Whos = []string{"daemon", "shim"}

// WithDefaults are the options with the documented defaults filled in.
func (o Options) WithDefaults() Options {
	fill := func(list *[]string, by ...string) {
		if len(*list) == 0 {
			*list = by
		}
	}
	fill(&o.Who, Whos...)
	if slices.Contains(o.Who, "both") {
		o.Who = Whos
	}
	fill(&o.Actions, "crash", "error", Code, Errno, "cancel")
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

// Check says what is wrong with the options, and what would be right.
func (o Options) Check() error {
	o = o.WithDefaults()
	var errs []error
	for _, list := range []struct {
		what         string
		words, known []string
	}{
		{"--who", o.Who, append(slices.Clone(Whos), "both")},
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

// amongDefault reports whether the cases of a plan are some of the default sweep's, and
// not all: where only who and what happens is left out.
func (o Options) amongDefault() bool {
	whole, all := Options{}.WithDefaults(), o.WithDefaults()
	if all.String() == whole.String() || !o.hasDefaultHits() {
		return false
	}
	return !slices.ContainsFunc(all.Actions, func(a string) bool { return !slices.Contains(whole.Actions, a) })
}

// pauses reports whether the cases of a plan are among those of the sweep of
// `--actions pause`.
func (o Options) pauses() bool {
	return slices.Equal(o.WithDefaults().Actions, []string{string(term.Pause)}) && o.hasDefaultHits()
}

// cuts reports whether the cases of a plan are among those of the widest one that only
// has what the default sweep runs: `--every-workload --hits path`.
func (o Options) cuts() bool {
	whole, all := Options{}.WithDefaults(), o.WithDefaults()
	among := func(words, of []string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(of, w) })
	}
	return among(all.Actions, whole.Actions) && among(all.Workloads, whole.Workloads) &&
		(all.Hits == "first" || all.Hits == "path") && all.Narrowed() == ""
}

// hasDefaultHits reports whether all but who and what happens is as in the default sweep.
// With other paths, workloads or points each point's first hit, and the cheapest workload
// of it, may be another.
func (o Options) hasDefaultHits() bool {
	whole, all := Options{}.WithDefaults(), o.WithDefaults()
	all.Who, all.Actions = whole.Who, whole.Actions
	return all.String() == whole.String()
}

// hits is how many hits of a point are swept, on a path or at all; 0 is all.
func (o Options) hits() (int, error) {
	switch o.Hits {
	case "", "first", "path":
		return 1, nil
	case "all":
		return 0, nil
	}
	n, err := strconv.Atoi(o.Hits)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("--hits %q: first, path, all, or how many of the first on each path", o.Hits)
	}
	return n, nil
}

// String is the options as one would type them: of a plan that is empty, and to tell a
// default one.
func (o Options) String() string {
	o = o.WithDefaults()
	s := fmt.Sprintf("--who %s --actions %s --path %s --workload %s --hits %s", strings.Join(o.Who, ","),
		strings.Join(o.Actions, ","), strings.Join(o.Paths, ","), strings.Join(o.Workloads, ","), o.Hits)
	if o.EveryWorkload {
		s += " --every-workload"
	}
	return strings.TrimSpace(s + " " + o.Narrowed())
}

// Keeps reports whether a point may be swept, by its name.
func (o Options) Keeps(p failpoints.Point) bool { return o.Points.MatchString(p.String()) }

// Narrowed are the options of Keeps, as one would type them; "" where it keeps all.
func (o Options) Narrowed() string {
	if o.Points.String() == "" {
		return ""
	}
	return fmt.Sprintf("--points %q", o.Points)
}
