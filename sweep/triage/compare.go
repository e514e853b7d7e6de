package triage

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/catalogue"
	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle/compare"
	"github.com/shimquake/shimquake/oracle/finding"
	"github.com/shimquake/shimquake/quote"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// Comparison compares the results of two sweeps (A and B) of one plan, for example on
// cgroup v1 and on cgroup v2.
type Comparison struct {
	// Cases is the number of cases that both sweeps have run. OnlyA and OnlyB count the
	// cases that only one of them has run.
	Cases, OnlyA, OnlyB int
	// Agreed counts the cases with the same result, by outcome.
	Agreed map[harness.Outcome]int
	// Raced has the cases that differ only by the findings of known races.
	Raced []Difference
	// OneSided has the cases that are invalid in one sweep: its fault did not happen
	// there, or that machine cannot run the case.
	OneSided []Difference
	// Differ has all other cases with different results. The three lists are in the order
	// of the plan.
	Differ []Difference
}

// maxOneSided is the largest share of cases that may be invalid in one sweep only.
// Between cgroup v1 and v2 it is a hundredth of a plan, because few points are in code
// for one version.
const maxOneSided = 0.1

// Agree reports whether the two sweeps have the same results.
func (c Comparison) Agree() bool {
	return len(c.Differ) == 0 && float64(len(c.OneSided)) <= maxOneSided*float64(c.Cases)
}

// Difference is a case with different results in two sweeps.
type Difference struct {
	Spec plan.Spec
	A, B CaseResult
}

// CaseResult is the result of a case in a sweep, without the parts of one run.
type CaseResult struct {
	Outcome harness.Outcome
	Why     string      // why the case is invalid, for people.
	Reason  string      // the compared form of Why.
	Only    []Signature // the findings of this sweep only.
	By      []string    // the known races that explain all of Only
}

// errNothingToCompare reports that two sweeps have no case in common.
var errNothingToCompare = errors.New("the two sweeps have no case in common")

// Compare compares the sweep in folder a with the sweep in the folders b, which may be
// shards of the plan.
func Compare(a string, b []string, known []catalogue.Excuse) (c Comparison, err error) {
	h, results, err := journal.Read(a)
	if err != nil {
		return c, err
	}
	as, bs := byCase(results), map[int]journal.Result{}
	for _, dir := range b {
		other, results, err := journal.Read(dir)
		if err != nil {
			return c, err
		}
		if other.Plan.Digest != h.Plan.Digest {
			return c, fmt.Errorf(
				"%s has another plan (%s) than %s (%s): run both with the same plan (--plan FILE)",
				dir,
				other.Plan.Digest,
				a,
				h.Plan.Digest,
			)
		}
		for i, r := range byCase(results) {
			bs[i] = r
		}
	}
	c.Agreed = map[harness.Outcome]int{}
	known = slices.DeleteFunc(slices.Clone(known), func(k catalogue.Excuse) bool { return !k.Applies(h.Plan.Version) })
	for i, s := range h.Plan.Specs {
		x, inA := as[i]
		y, inB := bs[i]
		switch {
		case inA && inB:
			c.add(s, x, y, known)
		case inA:
			c.OnlyA++
		case inB:
			c.OnlyB++
		}
	}
	if c.Cases == 0 {
		return c, fmt.Errorf("%w: %s, %s", errNothingToCompare, a, strings.Join(b, " "))
	}
	return c, nil
}

func byCase(results []journal.Result) map[int]journal.Result {
	m := map[int]journal.Result{}
	for _, r := range journal.Own(results) {
		m[r.I] = r
	}
	return m
}

func (c *Comparison) add(s plan.Spec, x, y journal.Result, known []catalogue.Excuse) {
	c.Cases++
	a, b := said(x), said(y)
	both := func(t Signature) bool { return slices.Contains(a.Only, t) && slices.Contains(b.Only, t) }
	onlyA := slices.DeleteFunc(slices.Clone(a.Only), both)
	onlyB := slices.DeleteFunc(slices.Clone(b.Only), both)
	if a.Outcome == b.Outcome && a.Reason == b.Reason && len(onlyA)+len(onlyB) == 0 {
		c.Agreed[a.Outcome]++
		return
	}
	a.Only, b.Only = onlyA, onlyB
	a.By, b.By = leftByChance(known, s, x.Found, onlyA), leftByChance(known, s, y.Found, onlyB)
	d := Difference{Spec: s, A: a, B: b}
	raced := func(s CaseResult) bool { return len(s.Only) == 0 || len(s.By) > 0 }
	switch {
	case (a.Outcome == harness.Invalid) != (b.Outcome == harness.Invalid):
		c.OneSided = append(c.OneSided, d)
	case a.Reason == b.Reason && raced(a) && raced(b):
		c.Raced = append(c.Raced, d)
	default:
		c.Differ = append(c.Differ, d)
	}
}

// leftByChance returns the known bugs that explain all additional findings of one sweep,
// or nothing. A bug that is no race shows reliably only in the catalogue's case for it,
// and by chance at the other points of its window. So it counts here, except in that
// case.
func leftByChance(known []catalogue.Excuse, s plan.Spec, found []finding.Finding, only []Signature) (ids []string) {
	var left []Signature
	for i, direct := range explains(known, found, s) {
		if !known[i].Sometimes && covers(s, known[i].Case) {
			continue
		}
		ids = append(ids, known[i].ID)
		left = append(left, signatures(direct)...)
		left = append(left, signatures(compare.Companions(direct, found))...)
	}
	if slices.ContainsFunc(only, func(t Signature) bool { return !slices.Contains(left, t) }) {
		return nil
	}
	slices.Sort(ids)
	return ids
}

func said(r journal.Result) CaseResult {
	s := CaseResult{Outcome: r.Outcome, Why: r.Why, Reason: r.Reason()}
	for _, f := range r.Found {
		if t := signatureOf(f); !slices.Contains(s.Only, t) {
			s.Only = append(s.Only, t)
		}
	}
	slices.SortFunc(s.Only, bySeverity)
	return s
}

// String returns the comparison for a person.
func (c Comparison) String() string {
	var b quote.Text
	for _, d := range c.Raced {
		b.Line("differs by chance: %s (%s)", d.Spec, strings.Join(append(d.A.By, d.B.By...), ", "))
	}
	for _, part := range []struct {
		word string
		all  []Difference
	}{{"invalid in one sweep", c.OneSided}, {"differs", c.Differ}} {
		for _, d := range part.all {
			b.Line("%s: %s", part.word, d.Spec)
			d.A.write(&b, "A")
			d.B.write(&b, "B")
		}
	}
	agreed := 0
	for _, n := range c.Agreed {
		agreed += n
	}
	only := ""
	if c.OnlyA+c.OnlyB > 0 {
		only = fmt.Sprintf("; %d are only in A, %d only in B", c.OnlyA, c.OnlyB)
	}
	b.Line("%d cases in both: %d agree (%d held, %d violated, %d invalid), "+
		"%d differ by known races, %d are invalid in one sweep, %d differ%s", c.Cases, agreed,
		c.Agreed[harness.Held], c.Agreed[harness.Violated], c.Agreed[harness.Invalid],
		len(c.Raced), len(c.OneSided), len(c.Differ), only)
	return b.String()
}

func (s CaseResult) write(b *quote.Text, who string) {
	head, why := fmt.Sprintf("  %s: %s", who, s.Outcome), ""
	if s.Why != "" {
		why = ": " + s.Why
	}
	b.Block(head, why)
	for _, t := range s.Only {
		b.Line("       %s", t)
	}
}
