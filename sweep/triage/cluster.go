package triage

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shimquake/shimquake/failpoints"
	"github.com/shimquake/shimquake/failpoints/probe/term"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// Cluster is a group of cases with the same findings after the same kind of fault.
type Cluster struct {
	// Name is made from the findings and the function of the faults:
	// shim-runtime.binary.start.
	Name string `json:"cluster"`
	// When is the effect of the faults: containerd ends, the shim ends, or a call fails.
	When string `json:"when"`
	// Left has the findings that all of its cases share, the most severe first.
	Left []Signature `json:"left"`
	// Also counts the additional findings that only some cases have.
	Also map[string]int `json:"also,omitempty"`
	// Points is the number of points at which its faults happen. Cases is the number of
	// its cases.
	Points int `json:"points"`
	Cases  int `json:"cases"`
	// Actions, Workloads and Paths count its cases by action, workload and path.
	Actions   map[string]int `json:"actions"`
	Workloads map[string]int `json:"workloads"`
	Paths     map[string]int `json:"paths"`
	Windows   []Window       `json:"windows"`
	// Shown is the simplest case that shows the cluster. It is nil if the sweep did not
	// look for one.
	Shown *Shown `json:"shown,omitempty"`

	occurrences []occurrence
}

// Shown is the case that shows a cluster.
type Shown struct {
	// File is the case's file, for `shimquake run`.
	File string `json:"case"`
	// Replays is the number of the case's runs. Same is the number of runs that showed
	// the cluster.
	Replays int `json:"replays"`
	Same    int `json:"same"`
	// Evidence is the folder with the evidence of one run that showed the cluster.
	Evidence string `json:"evidence,omitempty"`
}

func (s *Shown) String() string {
	text := fmt.Sprintf("%s, %d of %d replays", s.File, s.Same, s.Replays)
	if s.Same == 0 && s.Replays > 0 {
		text += fmt.Sprintf(": it occurs in fewer than %.0f %% of its runs (with 95 %% certainty)", 100*s.odds())
	}
	return text + "."
}

// odds returns an upper limit of the probability that a run of the case shows the
// cluster, with 95 % certainty. It applies if no replay has shown it.
func (s *Shown) odds() float64 { return 1 - math.Pow(0.05, 1/float64(s.Replays)) }

// A cluster with few cases does not fail the sweep if enough replays do not reproduce it.
// A cluster with more cases counts as reproduced, because several runs of the sweep
// showed it.
const (
	enoughReplays = 20
	fewCases      = 3
)

// Reproduced reports whether the cluster was reproduced, by a replay or by its number of
// cases, or was replayed too few times to tell.
func (c Cluster) Reproduced() bool {
	return c.Shown == nil || c.Shown.Same > 0 || c.Shown.Replays < enoughReplays || c.Cases > fewCases
}

// occurrence is a case of a cluster. It is small, because there may be thousands.
type occurrence struct {
	spec int         // index in the plan
	left []Signature // the findings that name the cluster
	with []Signature // further symptoms of the same cause
	// found has the findings of left, with the values of this case.
	found []finding.Finding
}

// occurrences returns the findings of a case, one occurrence for each cluster to which
// they belong.
func occurrences(spec int, found []finding.Finding) []occurrence {
	main, with := reduced(found)
	var out []occurrence
	for i, f := range families(main) {
		o := occurrence{spec: spec, left: f, found: examples(f, found)}
		if i == 0 { // the companions belong to the most severe family
			o.with = with
		}
		out = append(out, o)
	}
	return out
}

// examples returns one finding of each signature.
func examples(of []Signature, found []finding.Finding) (all []finding.Finding) {
	for _, s := range of {
		if n := slices.IndexFunc(found, func(f finding.Finding) bool { return signatureOf(f) == s }); n >= 0 {
			all = append(all, found[n])
		}
	}
	return all
}

// Example returns a finding with that signature from the cluster's first such case in the
// plan. The report needs it, because a sentence about a finding has values of one case.
// If there is no such case, the example has only the facts of the signature.
func (c Cluster) Example(s Signature) finding.Finding {
	example, spec := finding.Finding{Invariant: s.Invariant, Class: s.Class, Facts: s.Facts}, math.MaxInt
	for _, o := range c.occurrences {
		if all := examples([]Signature{s}, o.found); len(all) > 0 && o.spec < spec {
			example, spec = all[0], o.spec
		}
	}
	return example
}

// Simplest returns the indexes in the plan of the cluster's few simplest cases. The
// minimiser tries no others.
func (c Cluster) Simplest(p plan.Plan) []int {
	all := c.Specs(p)
	return all[:min(len(all), fewCases)]
}

// Specs returns the indexes in the plan of all of the cluster's cases, the simplest
// first.
func (c Cluster) Specs(p plan.Plan) []int {
	specs := make([]int, len(c.occurrences))
	for i, o := range c.occurrences {
		specs[i] = o.spec
	}
	slices.SortStableFunc(specs, func(a, b int) int { return plan.Simpler(p.Specs[a], p.Specs[b]) })
	return specs
}

// Continues reports whether the cluster has a case and a finding of an earlier one. The
// earlier one is of the same sweep, when it had fewer results.
func (c Cluster) Continues(earlier Cluster) bool {
	for _, a := range earlier.occurrences {
		for _, b := range c.occurrences {
			if a.spec == b.spec && slices.ContainsFunc(a.left, func(s Signature) bool { return slices.Contains(b.left, s) }) {
				return true
			}
		}
	}
	return false
}

// ShownBy reports whether a verdict shows the cluster. One of its findings is enough,
// because a race decides which symptoms of a cause a run shows.
func (c Cluster) ShownBy(v harness.Verdict) bool {
	all := signatures(v.Violations())
	return v.Outcome == harness.Violated &&
		slices.ContainsFunc(c.Left, func(s Signature) bool { return slices.Contains(all, s) })
}

// Key identifies the cluster in the sweeps of several nights. It is a digest of the
// findings and of the effect of the faults. The name and the cases can change when
// containerd gets one more point.
func (c Cluster) Key() string {
	sum := sha256.Sum256([]byte(c.When + ": " + text(c.Left)))
	return hex.EncodeToString(sum[:6])
}

// happened returns the effects of a case's faults. They separate clusters: the same
// finding has different causes after a crash and after an error.
func happened(s plan.Spec) []string {
	var parts []string
	for _, f := range s.Faults {
		part := "something fails"
		switch {
		case f.Kills():
			part = f.Point.Who + " dies"
		case f.Word() == string(term.Delay), f.Word() == string(term.Stop):
			part = f.Point.Who + " is stuck"
		}
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return parts
}

// When returns the text of the effects of a case's faults: "containerd dies".
func When(s plan.Spec) string { return strings.Join(happened(s), " and ") }

// Kind returns the same text for cases with the same findings after the same effects. A
// sweep keeps the evidence of only a few cases of a kind.
func Kind(s plan.Spec, r journal.Result) string {
	if r.Outcome == harness.Invalid {
		return When(s) + ": invalid " + r.Reason()
	}
	left, _ := reduced(r.Found)
	return When(s) + ": " + text(left)
}

// clusters groups occurrences with the same findings, the largest cluster first. A case
// with all findings of a cluster, and more, joins it if both have a fault in the same
// function. Its other findings are counted in Also.
func clusters(p plan.Plan, all []occurrence) []Cluster {
	by := map[string][]occurrence{}
	for _, o := range all {
		key := When(p.Specs[o.spec]) + ": " + text(o.left)
		by[key] = append(by[key], o)
	}
	keys := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		x, y := by[a][0], by[b][0]
		return cmp.Or(cmp.Compare(len(x.left), len(y.left)),
			cmp.Compare(len(happened(p.Specs[x.spec])), len(happened(p.Specs[y.spec]))), strings.Compare(a, b))
	})
	var out []*Cluster
	for _, k := range keys {
		var rest []occurrence
		for _, o := range by[k] {
			if c := hostOf(p, out, o); c != nil {
				c.occurrences = append(c.occurrences, o)
			} else {
				rest = append(rest, o)
			}
		}
		if len(rest) > 0 {
			out = append(out, &Cluster{When: When(p.Specs[rest[0].spec]), Left: rest[0].left, occurrences: rest})
		}
	}
	done := make([]Cluster, len(out))
	for i, c := range out {
		slices.SortFunc(c.occurrences, func(a, b occurrence) int { return cmp.Compare(a.spec, b.spec) })
		c.sum(p)
		done[i] = *c
	}
	slices.SortFunc(done, func(a, b Cluster) int {
		return cmp.Or(bySeverity(a.Left[0], b.Left[0]), cmp.Compare(b.Cases, a.Cases),
			strings.Compare(a.When+text(a.Left), b.When+text(b.Left)))
	})
	nameAll(done)
	return done
}

// hostOf returns the cluster that an occurrence joins, or nil. The cluster has fewer
// findings, or its cases need fewer faults for the same findings.
func hostOf(p plan.Plan, all []*Cluster, o occurrence) *Cluster {
	spec := p.Specs[o.spec]
	parts := happened(spec)
	for _, c := range all {
		if !subset(c.Left, o.left) {
			continue
		}
		host := happened(p.Specs[c.occurrences[0].spec])
		same := c.When == When(spec)
		isPart := !slices.ContainsFunc(host, func(w string) bool { return !slices.Contains(parts, w) })
		if same && len(c.Left) == len(o.left) || !same && !isPart {
			continue
		}
		if slices.ContainsFunc(c.occurrences, func(h occurrence) bool { return near(p.Specs[h.spec], spec) }) {
			return c
		}
	}
	return nil
}

// near reports whether two cases have a fault in the same function.
func near(a, b plan.Spec) bool {
	return slices.ContainsFunc(a.Faults, func(x plan.Fault) bool {
		return slices.ContainsFunc(b.Faults, func(y plan.Fault) bool { return x.Place() == y.Place() })
	})
}

// sum sets the counts of the cluster from its occurrences.
func (c *Cluster) sum(p plan.Plan) {
	c.Cases = len(c.occurrences)
	c.Actions, c.Workloads, c.Paths, c.Also = map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	points := map[failpoints.Point]bool{}
	for _, o := range c.occurrences {
		s := p.Specs[o.spec]
		last := s.Last()
		points[last.Point] = true
		c.Actions[last.Word()]++
		c.Workloads[s.Workload]++
		c.Paths[last.Path]++
		for _, t := range slices.Concat(o.left, o.with) {
			if !slices.Contains(c.Left, t) {
				c.Also[t.String()]++
			}
		}
	}
	c.Points = len(points)
	c.Windows = windows(p, points)
}

// nameAll names clusters by their findings and the function with most of their points.
func nameAll(all []Cluster) {
	taken := map[string]int{}
	for i := range all {
		c := &all[i]
		name := plan.Slug(string(c.Left[0].Class) + "-" + c.Windows[0].Who + "-" + c.Windows[0].Function)
		if taken[name]++; taken[name] > 1 {
			name += "-" + strconv.Itoa(taken[name])
		}
		c.Name = name
	}
}
