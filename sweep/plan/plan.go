// Package plan is what a sweep runs: a case for each point that a workload passes and
// each action that the point takes, in a fixed order, with a digest.
package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/quote"
)

// Format is the version of a plan's JSON form, and of a journal's. Another one is
// refused.
const Format = 2

// Plan is what a sweep runs, in a fixed order. Its JSON form is the first record of a
// journal.
type Plan struct {
	// Digest is that of all the rest: two plans are the same when theirs are.
	Digest string `json:"digest"`
	// Format is the version of the JSON form.
	Format int `json:"format"`
	// Containerd is the subject as it was asked for, Version what it reports, and Subject
	// the digest of its binaries.
	Containerd string `json:"containerd"`
	Version    string `json:"version"`
	Subject    string `json:"subject"`
	// Options are what was chosen, as one would type it.
	Options string `json:"options"`
	// Among is set where all cases are among those of the default sweep, which has more.
	Among bool `json:"among,omitempty"`
	// Paused is set where all cases are among those of the sweep of `--actions pause`.
	Paused bool `json:"paused,omitempty"`
	// OfCuts is set where all cases are among those of the sweep of `--every-workload --hits
	// path`.
	OfCuts bool `json:"ofCuts,omitempty"`
	// Runs is how many traces of each workload the plan was made from.
	Runs  int    `json:"runs"`
	Specs []Spec `json:"cases"`
	// Places is where each statement point stands.
	Places map[failpoints.Point]Place `json:"places,omitempty"`
}

// EmptyError says which of the options left nothing to sweep.
type EmptyError struct {
	Filter  string // the option that took the last: --who
	Before  int    // how many passes there were before it
	Options string
}

func (e *EmptyError) Error() string {
	if e.Filter == "" {
		return fmt.Sprintf("nothing to sweep: the workloads passed no point at all (%s); has the subject probes?",
			e.Options)
	}
	return fmt.Sprintf("nothing to sweep: %s leaves none of the %d passes that the traces have (%s); "+
		"see what there is with --plan-only and fewer filters", e.Filter, e.Before, e.Options)
}

// New makes the plan of what was traced. The same traces give the same plan. The error is
// an *EmptyError where the options leave nothing.
func New(o Options, traces []Traces) (Plan, error) {
	o = o.WithDefaults()
	if err := o.Check(); err != nil {
		return Plan{}, err
	}
	chosen, err := choose(o, candidates(traces))
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Containerd: o.Containerd, Options: o.String(),
		Among: o.amongDefault(), Paused: o.pauses(), OfCuts: o.cuts()}
	for _, t := range traces {
		p.Runs = max(p.Runs, len(t.Runs))
	}
	for _, c := range chosen {
		for _, a := range o.Actions {
			for _, do := range c.faults(a) {
				s := Single(c.Pass, do, c.workload)
				s.Unsteady, s.Ending = c.unsteady || c.Ending, c.Ending && !c.unsteady
				p.Specs = append(p.Specs, s)
			}
		}
	}
	p.Specs = Distinct(p.Specs) // error gives lose, too
	return p.Sealed(), p.check("plan")
}

// Distinct are cases without a second one that does the same.
func Distinct(all []Spec) []Spec {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(s Spec) bool {
		key := s.Key()
		twice := seen[key]
		seen[key] = true
		return twice
	})
}

// IsDefault reports whether the plan, or what it is a shard of, is that of the default
// sweep.
func (p Plan) IsDefault() bool { return p.Options == Options{}.String() }

// IsBounded reports whether a default sweep has all cases of the plan: how many of one
// show a known finding at most is then the most of these, too.
func (p Plan) IsBounded() bool { return p.IsDefault() || p.Among }

// widest are the options that have each cut by who, what, path and workload of what the
// default sweep runs.
var widest = Options{EveryWorkload: true, Hits: "path"}

// HasAllCuts reports whether the plan is that of `--every-workload --hits path`, which
// has the cases of each cut of the default workloads and actions.
func (p Plan) HasAllCuts() bool { return p.Options == widest.String() }

// Sealed is the plan with its digest.
func (p Plan) Sealed() Plan {
	p.Format = Format
	p.Digest = p.digest()
	return p
}

// digest is that of everything that decides what a sweep does.
func (p Plan) digest() string {
	p.Digest = ""
	text, err := json.Marshal(p)
	if err != nil { // strings and numbers
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// mostPlan is how long a plan may be, in bytes. A case has some 200.
const mostPlan = 1 << 30

// mostValues is how many values a plan may have. One of all options has a tenth.
const mostValues = 4_000_000

// Read reads a plan that `--plan-only` has written.
func Read(file string) (Plan, error) {
	text, err := foreign.ReadTyped(file, mostPlan)
	if err != nil {
		return Plan{}, fmt.Errorf("read the plan: %w", err)
	}
	if err := foreign.CheckJSON("the plan", text, mostValues); err != nil {
		return Plan{}, fmt.Errorf("%s: %w", file, err)
	}
	if err := CheckFormat(file, text); err != nil {
		return Plan{}, err
	}
	var p Plan
	if err := json.Unmarshal(text, &p); err != nil {
		return Plan{}, fmt.Errorf("%s is not a plan (make one with --plan-only): %w", quote.Line(file), err)
	}
	return p, p.Check(file)
}

// CheckFormat refuses the JSON text of a plan of another format, before the rest is read.
// What is no plan at all the reader of the rest refuses.
func CheckFormat(file string, text []byte) error {
	var p struct{ Format *int }
	if err := json.Unmarshal(text, &p); err != nil || p.Format != nil && *p.Format == Format {
		return nil
	}
	return fmt.Errorf("%s: the plan is another shimquake's: this one reads format %d only; plan and sweep again",
		file, Format)
}

// Check reports what is wrong with a plan that was read.
func (p Plan) Check(file string) error {
	if p.digest() != p.Digest {
		return fmt.Errorf("%s: the plan was changed after it was made: its digest is not %q", file, p.Digest)
	}
	return p.check(file)
}

// check reports which case cannot be run.
func (p Plan) check(file string) error {
	if len(p.Specs) == 0 {
		return fmt.Errorf("%s: the plan has no cases", file)
	}
	for i, s := range p.Specs {
		c, err := s.Case(p.Containerd)
		if err == nil {
			err = c.Check()
		}
		if err != nil {
			return fmt.Errorf("%s: case %d: %w; was it made by another version of shimquake?", file, i, err)
		}
	}
	return nil
}

// Write writes the plan to a file, for Read.
func (p Plan) Write(file string) error {
	text, err := json.MarshalIndent(p, "", " ")
	if err == nil {
		err = foreign.WriteFile(file, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return nil
}
