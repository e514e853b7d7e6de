package sweep

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Plan is what a sweep runs, in a fixed order. Its JSON form is the first record of a journal.
type Plan struct {
	// Digest is that of all the rest: two plans are the same when theirs are.
	Digest string `json:"digest"`
	// Containerd is the subject as it was asked for, Version what it reports, and Subject the digest of its binaries.
	Containerd string `json:"containerd"`
	Version    string `json:"version"`
	Subject    string `json:"subject"`
	// Options are what was chosen, as one would type it.
	Options string `json:"options"`
	// Runs is how many traces of each workload the plan was made from.
	Runs  int    `json:"runs"`
	Specs []Spec `json:"cases"`
	// Places is where each statement point stands: file:line.
	Places map[string]string `json:"places,omitempty"`
}

// EmptyError says which of the options left nothing to sweep.
type EmptyError struct {
	Filter  string // the option that took the last: --who
	Before  int    // how many passes there were before it
	Options string
}

func (e *EmptyError) Error() string {
	if e.Filter == "" {
		return fmt.Sprintf("nothing to sweep: the workloads passed no point at all (%s); has the subject probes?", e.Options)
	}
	return fmt.Sprintf("nothing to sweep: %s leaves none of the %d passes that the traces have (%s); see what there is with --plan-only and fewer filters",
		e.Filter, e.Before, e.Options)
}

// NewPlan makes the plan of what was traced. The same traces give the same plan. It returns an *EmptyError where the options leave nothing.
func NewPlan(o Options, traces []Traces) (Plan, error) {
	o = o.withDefaults()
	if err := o.Check(); err != nil {
		return Plan{}, err
	}
	chosen, err := choose(o, candidates(traces))
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Containerd: o.Containerd, Options: o.String()}
	for _, t := range traces {
		p.Runs = max(p.Runs, len(t.Runs))
	}
	for _, c := range chosen {
		for _, a := range o.Actions {
			for _, do := range faults(a, c.Pass) {
				s := Spec{Point: c.Point.String(), Nth: c.Nth, Action: do, Path: c.Path, Workload: c.workload, Unsteady: c.unsteady}
				if !slices.Contains(p.Specs, s) { // error gives lose, too
					p.Specs = append(p.Specs, s)
				}
			}
		}
	}
	p.Digest = p.digest()
	return p, p.check("plan")
}

// candidate is a hit that may be swept.
type candidate struct {
	Pass
	workload string
	unsteady bool
}

// candidates are the hits of all workloads, each once, in a fixed order. What a hit's path is, the first trace says that has it.
func candidates(traces []Traces) []candidate {
	var all []candidate
	for _, t := range traces {
		type hit struct {
			point
			nth int
		}
		seen, count := map[hit]Pass{}, map[hit]int{}
		for _, run := range t.Runs {
			for _, p := range run {
				h := hit{point{p.Point.String(), p.Moment}, p.Nth}
				if _, ok := seen[h]; !ok {
					seen[h] = p
				}
				count[h]++
			}
		}
		sure := sureHits(t.Runs)
		for h, p := range seen {
			all = append(all, candidate{Pass: p, workload: t.Workload, unsteady: count[h] < len(t.Runs) || h.nth > sure[h.point]})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(cost(a.workload), cost(b.workload)), strings.Compare(a.Point.String(), b.Point.String()), strings.Compare(string(a.Moment), string(b.Moment)),
			cmp.Compare(a.Nth, b.Nth))
	})
	return all
}

// point is what hits are counted by.
type point struct {
	name   string
	moment moment
}

// sureHits is how many hits of each point every run may be expected to have: the fewest of any trace, less the spread between the traces. A loop that
// goes round 7 to 9 times will go round 6 times sooner or later. Where every trace had one, a first hit is sure.
func sureHits(runs [][]Pass) map[point]int {
	least, most := map[point]int{}, map[point]int{}
	for i, run := range runs {
		of := map[point]int{}
		for _, p := range run {
			of[point{p.Point.String(), p.Moment}]++
		}
		for p, n := range of {
			if i == 0 {
				least[p] = n
			}
			most[p] = max(most[p], n)
		}
		for p := range most {
			least[p] = min(least[p], of[p])
		}
	}
	sure := map[point]int{}
	for p, n := range least {
		sure[p] = max(n-(most[p]-n), min(n, 1))
	}
	return sure
}

// choose applies the options' filters.
func choose(o Options, all []candidate) ([]candidate, error) {
	if len(all) == 0 {
		return nil, &EmptyError{Options: o.String()}
	}
	filters := []struct {
		name string
		keep func(candidate) bool
	}{
		{"--who " + strings.Join(o.Who, ","), func(c candidate) bool {
			return slices.Contains(o.Who, map[string]string{"containerd": "daemon", "shim": "shim"}[c.Point.Who])
		}},
		{"--path " + strings.Join(o.Paths, ","), func(c candidate) bool { return slices.Contains(o.Paths, c.Path) }},
		{"what a timer does, unless --points asks for it", func(c candidate) bool { return o.Points.String() != "" || !isTimed(c.Point) }},
		{"--points " + o.Points.String(), func(c candidate) bool { return o.Points.MatchString(c.Point.String()) }},
		{"--actions " + strings.Join(o.Actions, ","), func(c candidate) bool {
			return slices.ContainsFunc(o.Actions, func(a string) bool { return len(faults(a, c.Pass)) > 0 })
		}},
	}
	for _, f := range filters {
		before := len(all)
		all = slices.DeleteFunc(all, func(c candidate) bool { return !f.keep(c) })
		if len(all) == 0 {
			return nil, &EmptyError{Filter: f.name, Before: before, Options: o.String()}
		}
	}
	most, err := o.hits()
	if err != nil {
		return nil, err
	}
	return firstHits(all, most, o.Hits != "first", o.EveryWorkload), nil
}

// firstHits keeps the first hits of each point: of all of them (most 1, eachPath false), or on each path. Of the workloads that reach a point so, it
// takes the cheapest. A hit that every trace has is preferred to one that some have not, a workload with such a hit to one without, and one while the
// client waits for something to one at which containerd only starts.
func firstHits(all []candidate, most int, eachPath, everyWorkload bool) []candidate {
	type unit struct {
		point          string
		moment         moment
		path, workload string
	}
	of := func(c candidate) unit {
		u := unit{c.Point.String(), c.Moment, c.Path, c.workload}
		if !eachPath {
			u.path = ""
		}
		return u
	}
	units := map[unit][]candidate{}
	for _, c := range all {
		units[of(c)] = append(units[of(c)], c)
	}
	keys := slices.SortedFunc(maps.Keys(units), func(a, b unit) int {
		return cmp.Or(cmp.Compare(cost(a.workload), cost(b.workload)), strings.Compare(a.point, b.point), strings.Compare(string(a.moment), string(b.moment)),
			cmp.Compare(slices.Index(Paths, a.path), slices.Index(Paths, b.path)))
	})
	steady := func(cs []candidate) bool {
		return slices.ContainsFunc(cs, func(c candidate) bool { return !c.unsteady })
	}
	best := map[unit]string{} // of a unit without its workload
	for _, wantSteady := range []bool{true, false} {
		for _, u := range keys {
			bare := u
			bare.workload = ""
			if best[bare] == "" && steady(units[u]) == wantSteady {
				best[bare] = u.workload
			}
		}
	}
	var out []candidate
	for _, u := range keys {
		bare := u
		bare.workload = ""
		if !everyWorkload && best[bare] != u.workload {
			continue
		}
		cs := units[u]
		if most == 1 {
			slices.SortStableFunc(cs, func(a, b candidate) int {
				return cmp.Or(cmp.Compare(btoi(a.unsteady), btoi(b.unsteady)), cmp.Compare(btoi(a.Path == "load"), btoi(b.Path == "load")))
			})
		}
		if most > 0 && len(cs) > most {
			cs = cs[:most]
		}
		out = append(out, cs...)
	}
	return out
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
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

// ReadPlan reads a plan that `--plan-only` has written.
func ReadPlan(file string) (Plan, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Plan{}, fmt.Errorf("read the plan: %w", err)
	}
	var p Plan
	if err := json.Unmarshal(text, &p); err != nil {
		return Plan{}, fmt.Errorf("%s is not a plan (make one with --plan-only): %w", file, err)
	}
	return p, p.check(file)
}

// check says whether a plan that was read is whole.
func (p Plan) check(file string) error {
	if len(p.Specs) == 0 {
		return fmt.Errorf("%s: the plan has no cases", file)
	}
	if p.digest() != p.Digest {
		return fmt.Errorf("%s: the plan was changed after it was made: its digest is not %q", file, p.Digest)
	}
	for _, s := range p.Specs {
		c, err := s.Case(p.Containerd)
		if err == nil {
			err = c.Check()
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w; was it made by another version of shimquake?", file, s, err)
		}
	}
	return nil
}

// Write writes the plan to a file, for ReadPlan.
func (p Plan) Write(file string) error {
	text, err := json.MarshalIndent(p, "", " ")
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	return nil
}
