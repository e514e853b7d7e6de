// Package plan makes the plan of a sweep. For each failpoint ("point") that a workload
// reaches, the plan has one case for each action that can happen there. A plan has a
// fixed order and a digest.
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

// Format is the version of the JSON form of plans and journals. This build refuses other
// versions.
const Format = 3

// Plan holds the cases of a sweep in a fixed order. Its JSON form is the first record of
// a journal.
type Plan struct {
	// Digest covers all other fields, so plans with the same digest are equal.
	Digest string `json:"digest"`
	// Format is the version of the JSON form.
	Format int `json:"format"`
	// Containerd is the containerd under test, as the user named it. Version is the
	// version that it reports. Subject is the digest of its binaries.
	Containerd string `json:"containerd"`
	Version    string `json:"version"`
	Subject    string `json:"subject"`
	// Options are the options of the plan, as a user would type them.
	Options string `json:"options"`
	// Runs is the number of traces of each workload from which the plan was made.
	Runs  int    `json:"runs"`
	Specs []Spec `json:"cases"`
	// Places maps each statement's point to its source line.
	Places map[failpoints.Point]Place `json:"places,omitempty"`
}

// EmptyError names the option that left nothing to sweep.
type EmptyError struct {
	Filter  string // the option that removed the last remaining hit, for example --who
	Before  int    // the number of hits before this filter
	Options string
}

func (e *EmptyError) Error() string {
	if e.Filter == "" {
		return fmt.Sprintf("nothing to sweep: no workload reached a failpoint (%s); "+
			"check that this containerd was built with failpoints",
			e.Options)
	}
	return fmt.Sprintf("nothing to sweep: %s excludes all of the %d recorded hits (options: %s); "+
		"remove this filter; a plan without it, made with --plan-only, lists the failpoints", e.Filter, e.Before, e.Options)
}

// New makes a plan of the traces. The same traces give the same plan. If the options
// leave nothing, the error is an *EmptyError.
func New(o Options, traces []Traces) (Plan, error) {
	o = o.WithDefaults()
	if err := o.Check(); err != nil {
		return Plan{}, err
	}
	further := o.further()
	own := slices.DeleteFunc(slices.Clone(traces), func(t Traces) bool {
		return t.After != nil || slices.Contains(further, t.Workload)
	})
	chosen, err := choose(o, commonHits(own))
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Containerd: o.Containerd, Options: o.String()}
	for _, t := range own {
		p.Runs = max(p.Runs, len(t.Runs))
	}
	for _, c := range chosen {
		for _, a := range o.Actions {
			for _, do := range c.faults(a) {
				s := Single(c.Hit, do, c.workload)
				s.Unsteady = c.Ending
				p.Specs = append(p.Specs, s)
			}
		}
	}
	p.Specs = Distinct(append(p.Specs, o.furtherSpecs(own, traces)...)) // both may have the same case
	return p.WithDigest(), p.check("plan")
}

// Distinct returns the cases without duplicates.
func Distinct(all []Spec) []Spec {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(s Spec) bool {
		key := s.Key()
		twice := seen[key]
		seen[key] = true
		return twice
	})
}

// WithDigest returns the plan with its digest.
func (p Plan) WithDigest() Plan {
	p.Format = Format
	p.Digest = p.digest()
	return p
}

// digest returns the digest of all fields but Digest.
func (p Plan) digest() string {
	p.Digest = ""
	text, err := json.Marshal(p)
	if err != nil { // cannot happen: the fields are strings and numbers
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// maxPlanBytes limits the size of a plan's file. A case takes some 200 bytes.
const maxPlanBytes = 1 << 30

// maxPlanValues limits the number of JSON values of a plan. The plan of all options has a
// tenth of them.
const maxPlanValues = 4_000_000

// Read reads a plan that `--plan-only` has written.
func Read(file string) (Plan, error) {
	text, err := foreign.ReadTyped(file, maxPlanBytes)
	if err != nil {
		return Plan{}, fmt.Errorf("read the plan: %w", err)
	}
	if err := foreign.CheckJSON("the plan", text, maxPlanValues); err != nil {
		return Plan{}, fmt.Errorf("%s: %w", file, err)
	}
	if err := CheckFormat(file, text); err != nil {
		return Plan{}, err
	}
	var p Plan
	if err := json.Unmarshal(text, &p); err != nil {
		return Plan{}, fmt.Errorf("%s is not a plan (make one with --plan-only): %w", quote.Line(file), err)
	}
	if err := p.Check(file); err != nil {
		return p, err
	}
	if len(p.Specs) == 0 {
		return p, fmt.Errorf("%s: the plan has no cases", file)
	}
	return p, nil
}

// CheckFormat refuses the JSON text of a plan of another format. It accepts text that is
// no plan, because the reader that follows refuses it.
func CheckFormat(file string, text []byte) error {
	var p struct{ Format *int }
	if err := json.Unmarshal(text, &p); err != nil || p.Format != nil && *p.Format == Format {
		return nil
	}
	return fmt.Errorf("%s: another version of shimquake made this plan, and this version reads only format %d; "+
		"make a new plan with --plan-only, and sweep with it", file, Format)
}

// Check returns what is wrong with a plan that was read.
func (p Plan) Check(file string) error {
	if p.digest() != p.Digest {
		return fmt.Errorf("%s: the plan was changed after it was made: its content does not match its digest %q",
			file, p.Digest)
	}
	return p.check(file)
}

// check returns an error about the first case that cannot run.
func (p Plan) check(file string) error {
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

// Write writes the plan to a file that [Read] reads.
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
