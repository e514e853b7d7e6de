package triage

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shimquake/shimquake/harness"
	"github.com/shimquake/shimquake/oracle"
	"github.com/shimquake/shimquake/sweep/journal"
	"github.com/shimquake/shimquake/sweep/plan"
)

// Comparison is what two sweeps of one plan say of the same cases, such as on cgroup v1
// and on v2.
type Comparison struct {
	// Cases are those that both have run; OnlyA and OnlyB those that one has.
	Cases, OnlyA, OnlyB int
	// Agreed are the cases of which both say the same, by outcome.
	Agreed map[harness.Outcome]int
	// Differ are the others, in the order of the plan.
	Differ []Difference
}

// Difference is a case of which two sweeps say different things.
type Difference struct {
	Spec plan.Spec
	A, B Said
}

// Said is what a sweep says of a case, without what is of one run only.
type Said struct {
	Outcome harness.Outcome
	Why     string      // of an invalid case
	Only    []Signature // what it found and the other did not
}

// ErrNothingToCompare says that two sweeps have no case in common.
var ErrNothingToCompare = errors.New("no case of the one is in the other")

// Compare compares the sweep in a folder with another, which may stand in several as
// shards of the plan.
func Compare(a string, b []string) (c Comparison, err error) {
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
				"%s has another plan (%s) than %s (%s): give both the same with --plan FILE",
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
	for i, s := range h.Plan.Specs {
		x, inA := as[i]
		y, inB := bs[i]
		switch {
		case inA && inB:
			c.add(s, x, y)
		case inA:
			c.OnlyA++
		case inB:
			c.OnlyB++
		}
	}
	if c.Cases == 0 {
		return c, fmt.Errorf("%w: %s, %s", ErrNothingToCompare, a, strings.Join(b, " "))
	}
	return c, nil
}

func byCase(results []journal.Result) map[int]journal.Result {
	m := map[int]journal.Result{}
	for _, r := range results {
		m[r.I] = r
	}
	return m
}

func (c *Comparison) add(s plan.Spec, x, y journal.Result) {
	c.Cases++
	a, b := said(x), said(y)
	both := func(t Signature) bool { return slices.Contains(a.Only, t) && slices.Contains(b.Only, t) }
	onlyA := slices.DeleteFunc(slices.Clone(a.Only), both)
	onlyB := slices.DeleteFunc(slices.Clone(b.Only), both)
	if a.Outcome == b.Outcome && a.Why == b.Why && len(onlyA)+len(onlyB) == 0 {
		c.Agreed[a.Outcome]++
		return
	}
	a.Only, b.Only = onlyA, onlyB
	c.Differ = append(c.Differ, Difference{Spec: s, A: a, B: b})
}

func said(r journal.Result) Said {
	s := Said{Outcome: r.Outcome, Why: oracle.Comparable(r.Why)}
	for _, f := range r.Found {
		if t := signatureOf(f); !slices.Contains(s.Only, t) {
			s.Only = append(s.Only, t)
		}
	}
	slices.SortFunc(s.Only, bySeverity)
	return s
}

// String is the comparison for people.
func (c Comparison) String() string {
	var b strings.Builder
	for _, d := range c.Differ {
		fmt.Fprintf(&b, "differs: %s\n%s%s", d.Spec, d.A.lines("A"), d.B.lines("B"))
	}
	agreed := 0
	for _, n := range c.Agreed {
		agreed += n
	}
	fmt.Fprintf(&b, "%d cases in both: %d agree (%d held, %d violated, %d invalid), %d differ", c.Cases, agreed,
		c.Agreed[harness.Held], c.Agreed[harness.Violated], c.Agreed[harness.Invalid], len(c.Differ))
	if c.OnlyA+c.OnlyB > 0 {
		fmt.Fprintf(&b, "; %d are only in A, %d only in B", c.OnlyA, c.OnlyB)
	}
	return b.String() + "\n"
}

func (s Said) lines(who string) string {
	text := fmt.Sprintf("  %s: %s", who, s.Outcome)
	if s.Why != "" {
		text += ": " + s.Why
	}
	text += "\n"
	for _, t := range s.Only {
		text += "       " + t.String() + "\n"
	}
	return text
}
